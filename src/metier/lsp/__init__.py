"""The language server: findings, help, completion and repairs in an editor."""
