"""Files that decide what programs run later. A short file, because guards that never start a program have the same list."""

__all__ = ["PROTECTED"]

PROTECTED = (
    ".git/hooks", ".git/config", ".git/config.worktree", ".git/info/attributes", ".git/modules", ".gitmodules", ".gitconfig",
    ".skillkit", ".mcp.json", ".claude", ".claude.json", ".agents", ".codex", ".cursor", ".vscode", ".idea", ".devcontainer",
    ".envrc", ".husky", ".pre-commit-config.yaml", ".exrc", ".vimrc", ".nvim.lua", ".dir-locals.el", ".profile", ".bashrc",
    ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
    ".config/fish",
)  # fmt: skip
"""Files and folders, in any folder, that decide what programs of a person run later: every guard has the same list."""
