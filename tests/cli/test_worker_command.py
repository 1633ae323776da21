"""`metier worker`: whole runs on workers, taken over when a worker dies."""

import signal

from cli.run_workspace import eventually, tool
from cli.worker_processes import Team, acts
from cli.worker_processes import team as team


def test_a_worker_executes_a_detached_run(team: Team) -> None:
    team.agent("clerk", *acts(2))
    worker = team.worker()
    run_id = team.detached("clerk")
    team.ended(run_id)
    assert team.lines("calls") == {f"{run_id} s1": 1, f"{run_id} s2": 1}
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0, team.log(worker)
    assert team.rows("SELECT id FROM metier.worker WHERE namespace = %s", team.namespace) == []
