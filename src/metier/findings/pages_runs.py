"""The pages of what can go wrong while agents run."""

RUN_PAGES: dict[str, str] = {
    "RUN_BUSY": (
        "Another process is at work on this run, and a run is executed by one process at a time. "
        "Wait for it, or stop it with 'metier runs cancel RUN'."
    ),
    "RUN_CANCELLED": (
        "Somebody cancelled the run, with Ctrl-C or 'metier runs cancel'. "
        "Steps that had succeeded are kept; 'metier runs resume RUN' goes on with the others."
    ),
    "RUN_INTERRUPTED": (
        "The process that executed the run ended before the run did. Every acknowledged step is "
        "kept; 'metier runs resume RUN' goes on. A step that was in flight runs again, with the "
        "same idempotency key."
    ),
    "RUN_LIMIT_EXCEEDED": (
        "The run has used up one of the limits in its profile: tokens, cost, steps or seconds. "
        "It was stopped. Raise the limit under 'limits', or make the workflow smaller, and resume."
    ),
    "RUN_LOST": (
        "This process was stopped for so long (suspended, or on a machine that slept) that another "
        "one took its run over. It has stopped and changed nothing more; the other one's record "
        "counts. 'metier runs show RUN' tells how the run goes on."
    ),
    "RUN_NOT_RESUMABLE": (
        "A run that was rolled back cannot go on, because what it had done was undone. "
        "Fork it from a checkpoint, or run the agent again."
    ),
    "RUN_TIMEOUT": (
        "The run took longer than seconds under 'limits' in its profile, and everything in it was "
        "stopped. Resume it, or raise the limit."
    ),
    "STEP_FAILED": (
        "Something that the step relied on broke in a way that has no code of its own. "
        "The message says what; if it makes no sense, please report it as a bug."
    ),
    "STEP_TIMEOUT": (
        "A step took longer than its timeoutMs and was stopped. "
        "Raise the limit, or let it try again with a retryPolicy."
    ),
    "STEP_OUTPUT_MISSING": (
        "A step names several outputs, and what it gave has not all of them. "
        "Let it give a mapping with these names, or name one output for all of it."
    ),
    "EXPRESSION_FAILED": (
        "A condition or a template could not be computed: a name or a field that is not there, or "
        "a wrong type. Use 'is defined' or the filter 'default' for what may be missing."
    ),
    "LOOP_LIMIT_EXCEEDED": (
        "A loop has more turns than its maxIterations. "
        "Raise it, up to 1,000, or go over fewer items."
    ),
    "CAPABILITY_UNRESOLVED": (
        "A step requires capabilities that no skill provides well enough, so it was not started. "
        "'metier resolve -r CAPABILITY' shows the candidates and why each was rejected."
    ),
    "CHECKPOINT_NOT_FOUND": (
        "There is no checkpoint of that id, or the run has none. "
        "'metier runs show RUN' lists those that are kept."
    ),
    "CHECKPOINT_EXPIRED": (
        "The checkpoint is older than retentionHours under 'checkpoint' in its profile. "
        "Fork from a later one, or run the agent again."
    ),
    "CHECKPOINT_INVALID": (
        "The record lacks a part without which no run can go on from it. "
        "The message says which; nothing was saved."
    ),
    "CHECKPOINT_SAVE_FAILED": (
        "The checkpoint could not be written. "
        "Check the disk and who may write to your state folder."
    ),
    "DELEGATION_MAX_DEPTH_EXCEEDED": (
        "The chain of delegations is as deep as maxDepth under 'delegation' allows. "
        "Let an agent further up do the work, or raise the limit, up to 10."
    ),
    "DELEGATION_CIRCULAR": (
        "The agent is already in the chain of delegations, so the task would come round. "
        "The message prints the chain; delegate to another agent."
    ),
    "DELEGATION_TARGET_NOT_FOUND": (
        "No enabled agent has the id that a step delegates to. 'metier list agents' shows them."
    ),
    "DELEGATION_NOT_ALLOWED": (
        "The profile lists in 'to' under 'delegation' to whom its agent may delegate. This one is "
        "not among them. Add it there if it should be."
    ),
    "DELEGATION_TIMEOUT": (
        "The delegate took longer than timeoutMs under 'delegation', and its run was cancelled. "
        "That run can be resumed; resuming the one above does it."
    ),
    "DELEGATION_FAILED": (
        "The run of the delegate failed; the message says why. "
        "'metier runs show RUN' names that run, and resuming the one above goes on with it."
    ),
    "MODEL_ERROR": (
        "The model did not answer. The message says what its provider reported; a step with a "
        "retryPolicy tries again after what may pass by itself."
    ),
    "MODEL_NO_PACKAGE": (
        "Models of providers need a package that is not installed. "
        "Run: pip install 'metier[models]'."
    ),
    "MODEL_NOT_SET_UP": (
        "The provider of the model needs a setting that is missing, most often its key in the "
        "environment. The message names it."
    ),
    "MODEL_OUTPUT_INVALID": (
        "The answer of the model does not fit the outputSchema of the step. "
        "Let the step try again with a retryPolicy, or ask for less."
    ),
    "MODEL_OUTPUT_SCHEMA": (
        "The offline model can make no value for this outputSchema. "
        "Use a simpler schema, or a real model."
    ),
    "MODEL_SCRIPT_ENDED": (
        "The scripted model was asked more often than its script has answers. "
        "Add answers, or find out why it is asked again."
    ),
    "MODEL_TOOL_ROUNDS_EXCEEDED": (
        "The model kept calling tools and gave no answer within maxToolRounds. "
        "Raise it, up to 20, or offer fewer tools."
    ),
    "TOOL_NOT_FOUND": (
        "There is no tool of that name. A run whose agent, or one that it delegates to, names such "
        "a tool fails before anything is sent. Tools are Python functions, entries under [tools] "
        "in metier.toml, or those of an MCP server named there."
    ),
    "TOOL_VALIDATION_ERROR": (
        "The arguments do not fit the schema of the tool, so it was not called. "
        "The message lists every problem with its place."
    ),
    "TOOL_EXECUTION_ERROR": (
        "The tool raised, ended with an error, or gave something that is no JSON or over 1 MB. "
        "The message says which."
    ),
    "TOOL_TIMEOUT": (
        "The tool took longer than its time limit and was stopped. "
        "Raise the limit, or let the step try again with a retryPolicy."
    ),
    "TOOL_PERMISSION_DENIED": (
        "The agent may not call this tool: its profile does not list it, or you have not agreed "
        "to it. List it under 'tools'. Commands and the tools of MCP servers also need your "
        "consent: run with --allow-tool NAME, or allow it in your own settings."
    ),
    "TOOL_SERVER_FAILED": (
        "The MCP server named in the settings could not be started or asked for its tools. "
        "The message says what it reported; try its command by hand."
    ),
}
