"""What is known of the subcommands of git: data alone, with the same keys as :mod:`.tables`."""

from collections.abc import Mapping

__all__ = ["GIT"]

GIT: Mapping[str, Mapping[str, str]] = {
    "add": {
        "flags": (
            "-ANefinpuv --all --dry-run --edit --force --ignore-errors --ignore-missing --ignore-removal "
            "--intent-to-add --interactive --patch --pathspec-file-nul --refresh --renormalize --sparse --update "
            "--verbose --warn-embedded-repo"
        ),
        "values": "--chmod",
        "lists": "--pathspec-from-file",
    },
    "am": {
        "files": "read",
        "flags": (
            "-3cikmqrsu --3way --abort --allow-empty --binary --committer-date-is-author-date --continue "
            "--ignore-date --ignore-space-change --ignore-whitespace --interactive --keep --keep-cr --keep-non-patch "
            "--message-id --no-keep-cr --quiet --quit --rebasing --reject --rerere-autoupdate --resolved --scissors "
            "--show-current-patch --signoff --skip --utf8"
        ),
        "values": "-Cp --directory --empty --exclude --include --patch-format --quoted-cr --resolvemsg --whitespace",
        "joined": "-S",
        "runs": "--gpg-sign -S",
    },
    "annotate": {"like": "blame", "is": "shows"},
    "apply": {
        "files": "read",
        "flags": (
            "-3NRqvz --3way --add --allow-binary-replacement --allow-empty --allow-overlap --apply --binary --cached "
            "--check --ignore-space-change --ignore-whitespace --inaccurate-eof --index --intent-to-add --no-add "
            "--numstat --quiet --recount --reject --reverse --stat --summary --unidiff-zero --unsafe-paths --verbose"
        ),
        "values": "-Cp --directory --exclude --include --whitespace",
        "output": "--build-fake-ancestor",
    },
    "archive": {
        "flags": "-lv --list --verbose --worktree-attributes",
        "values": "--add-virtual-file --exec --format --prefix --remote",
        "output": "-o --output",
        "input": "--add-file",
        "runs": "--exec --remote",
    },
    "bisect": {"is": "runs", "but": "log"},
    "blame": {
        "is": "plain read-only shows",
        "flags": (
            "-bceflnpstw --abbrev --color-by-age --color-lines --incremental --line-porcelain --minimal --porcelain "
            "--progress --root --score-debug --show-email --show-name --show-number --show-stats"
        ),
        "values": "-L --date --ignore-rev --since",
        "joined": "-CM",
        "input": "--contents --ignore-revs-file -S",
        "runs": "--ext-diff --textconv",
    },
    "branch": {
        "flags": (
            "-CDMacdfilmqrv --abbrev --all --color --column --contains --copy --create-reflog --delete "
            "--edit-description --force --ignore-case --list --merged --move --quiet --recurse-submodules --remotes "
            "--set-upstream --show-current --track --unset-upstream --verbose --with --without"
        ),
        "values": "-u --format --no-contains --no-merged --points-at --set-upstream-to --sort",
        "joined": "-t",
    },
    "bundle": {},
    "cat-file": {
        "is": "read-only shows",
        "flags": (
            "-epstz --batch --batch-check --batch-command --allow-unknown-type --batch-all-objects "
            "--buffer --follow-symlinks --mailmap --unordered --use-mailmap"
        ),
        "values": "--path",
        "lists": "--batch --batch-check --batch-command",
        "runs": "--textconv --filters",
    },
    "check-attr": {"lists": "--stdin", "flags": "-az --all --cached --stdin", "values": "--source"},
    "check-ignore": {"flags": "-nqvz --no-index --non-matching --quiet --stdin --verbose"},
    "checkout": {
        "is": "writes",
        "flags": (
            "-23dflmpq --detach --force --guess --ignore-other-worktrees --ignore-skip-worktree-bits --merge "
            "--no-track --ours --overlay --overwrite-ignore --patch --pathspec-file-nul --progress --quiet "
            "--recurse-submodules --theirs --track"
        ),
        "values": "-Bb --conflict --orphan",
        "joined": "-t",
        "lists": "--pathspec-from-file",
    },
    "cherry": {"flags": "-v --abbrev --verbose"},
    "cherry-pick": {
        "flags": (
            "-ensx --abort --allow-empty --allow-empty-message --commit --continue --edit --ff "
            "--keep-redundant-commits --no-commit --quit --rerere-autoupdate --signoff --skip"
        ),
        "values": "-Xm --cleanup --mainline --strategy --strategy-option",
        "joined": "-S",
        "runs": "--gpg-sign -S",
    },
    "citool": {"is": "runs"},
    "clean": {"is": "writes", "flags": "-Xdfinqx --dry-run --force --interactive --quiet", "values": "-e --exclude"},
    "clone": {
        "flags": (
            "-46lnqsv --also-filter-submodules --bare --checkout --dissociate --hardlinks --ipv4 --ipv6 --local "
            "--mirror --naked --no-checkout --no-hardlinks --no-tags --progress --quiet --recurse-submodules "
            "--recursive --reject-shallow --remote-submodules --shallow-submodules --shared --single-branch --sparse "
            "--tags --verbose"
        ),
        "values": (
            "-bcjou --branch --bundle-uri --config --depth --filter --jobs --origin --server-option --shallow-exclude "
            "--shallow-since --template --upload-pack"
        ),
        "output": "--separate-git-dir",
        "input": "--reference --reference-if-able",
        "runs": "-u --upload-pack -c --config --template",
    },
    "commit": {
        "flags": (
            "-aeinopqsvz --ahead-behind --all --allow-empty --allow-empty-message --amend --branch --dry-run --edit "
            "--include --interactive --long --no-post-rewrite --no-verify --null --only --patch --pathspec-file-nul "
            "--porcelain --post-rewrite --quiet --reset-author --short --signoff --status --untracked-files --verbose "
            "--verify"
        ),
        "values": (
            "-Ccm --author --cleanup --date --fixup --message --reedit-message --reuse-message --squash --trailer"
        ),
        "joined": "-Su",
        "input": "-F --file -t --template",
        "lists": "--pathspec-from-file",
        "runs": "--gpg-sign -S",
    },
    "commit-tree": {"values": "-mp", "input": "-F", "runs": "-S --gpg-sign"},
    "config": {"is": "runs", "but": "--get --get-all --get-regexp --list -l get list", "input": "-f --file"},
    "count-objects": {"is": "plain read-only", "flags": "-Hv --human-readable --verbose"},
    "credential": {"is": "runs"},
    "cvsserver": {"is": "runs"},
    "daemon": {"is": "runs"},
    "describe": {
        "is": "plain read-only",
        "flags": (
            "--abbrev --all --always --broken --contains --debug --dirty --exact-match --first-parent --long --tags"
        ),
        "values": "--candidates --exclude --match",
    },
    "diff": {
        "is": "plain read-only shows",
        "flags": (
            "-0123DRWabciprstuwz --abbrev --base --binary --break-rewrites --cached --cc --check --color "
            "--color-moved --color-words --compact-summary --cumulative --dirstat --dirstat-by-file --exit-code "
            "--find-copies --find-copies-harder --find-renames --follow --full-index --function-context --histogram "
            "--ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change "
            "--ignore-submodules --indent-heuristic --irreversible-delete --ita-invisible-in-index "
            "--ita-visible-in-index --merge-base --minimal --name-only --name-status --no-color --no-ext-diff "
            "--no-index --no-patch --no-prefix --no-renames --no-textconv --numstat --ours --patch --patch-with-raw "
            "--patch-with-stat --patience --pickaxe-all --pickaxe-regex --quiet --raw --relative --rename-empty "
            "--shortstat --staged --stat --submodule --summary --text --theirs --unified --word-diff"
        ),
        "values": (
            "-GSUl --anchored --color-moved-ws --diff-algorithm --diff-filter --dst-prefix --find-object "
            "--ignore-matching-lines --inter-hunk-context --line-prefix --output-indicator-context "
            "--output-indicator-new --output-indicator-old --rotate-to --skip-to --src-prefix --stat-count "
            "--stat-graph-width --stat-name-width --stat-width --word-diff-regex --ws-error-highlight"
        ),
        "joined": "-BCMX",
        "output": "--output",
        "input": "-O",
        "runs": "--ext-diff --textconv",
        "leaves": "--submodule",
    },
    "diff-files": {"like": "diff", "is": "shows"},
    "diff-index": {"like": "diff", "is": "shows"},
    "diff-tree": {"like": "diff", "is": "shows"},
    "difftool": {"is": "shows runs", "lines": "-x --extcmd"},
    "fast-import": {"is": "runs"},
    "fetch": {
        "flags": (
            "-46Pafkmnpqtuv --all --append --atomic --auto-gc --auto-maintenance --dry-run --force --ipv4 --ipv6 "
            "--keep --multiple --negotiate-only --prefetch --progress --prune --prune-tags --quiet "
            "--recurse-submodules --refetch --set-upstream --show-forced-updates --stdin --tags --unshallow "
            "--update-head-ok --update-shallow --verbose --write-commit-graph --write-fetch-head"
        ),
        "values": (
            "-jo --deepen --depth --filter --jobs --negotiation-tip --recurse-submodules-default --refmap "
            "--server-option --shallow-exclude --shallow-since --submodule-prefix --upload-pack"
        ),
        "runs": "--upload-pack -o --server-option",
    },
    "filter-branch": {"is": "runs"},
    "for-each-ref": {
        "flags": "--ignore-case --merged --perl --python --shell --tcl",
        "values": "--contains --count --format --no-contains --no-merged --points-at --sort",
    },
    "for-each-repo": {"is": "runs"},
    "format-patch": {
        "like": "diff",
        "flags": (
            "-0123456789Nkpqs --attach --binary --cover-letter --force-in-body-from --from --ignore-if-in-upstream "
            "--inline --keep-subject --no-binary --no-numbered --no-stat --numbered --numbered-files --progress "
            "--quiet --rfc --signoff --stdout --thread --zero-commit"
        ),
        "values": (
            "-v --add-header --base --cc --cover-from-description --creation-factor --filename-max-length "
            "--in-reply-to --interdiff --range-diff --reroll-count --signature --start-number --subject-prefix "
            "--suffix --to"
        ),
        "joined": "-n",
        "output": "-o --output-directory",
        "input": "--signature-file",
    },
    "fsck": {
        "flags": (
            "-v --cache --connectivity-only --dangling --full --lost-found --name-objects --progress --reflogs --root "
            "--strict --tags --unreachable --verbose"
        ),
    },
    "gc": {"flags": "-q --aggressive --auto --cruft --force --keep-largest-pack --prune --quiet"},
    "grep": {
        "is": "plain read-only",
        "flags": (
            "-0123456789EFGHILPWachilnopqrvwz --all-match --and --basic-regexp --break --cached --color --column "
            "--count --exclude-standard --extended-regexp --files-with-matches --files-without-match --fixed-strings "
            "--full-name --function-context --heading --ignore-case --index --invert-match --line-number --name-only "
            "--no-index --not --null --only-matching --or --perl-regexp --quiet --recurse-submodules --recursive "
            "--show-function --text --untracked --word-regexp"
        ),
        "values": "-ABCem --after-context --before-context --context --max-count --max-depth --threads",
        "joined": "-O",
        "input": "-f",
        "runs": "-O --open-files-in-pager --ext-grep --textconv",
        "leaves": "--recurse-submodules",
    },
    "gui": {"is": "runs"},
    "hash-object": {
        "files": "read",
        "flags": "-w --stdin-paths --filters --literally --no-filters --stdin",
        "values": "-t --path",
        "lists": "--stdin-paths",
    },
    "help": {"is": "runs"},
    "hook": {"is": "runs"},
    "http-backend": {"is": "runs"},
    "init": {
        "flags": "-q --bare --quiet --shared",
        "values": "-b --initial-branch --object-format --template",
        "output": "--separate-git-dir",
        "runs": "--template",
    },
    "init-db": {"like": "init"},
    "instaweb": {"is": "runs"},
    "interpret-trailers": {},
    "lfs": {},
    "log": {
        "like": "diff",
        "is": "plain read-only",
        "flags": (
            "-0123456789EFPgimqz --stdin --abbrev-commit --all --all-match --alternate-refs --ancestry-path "
            "--author-date-order --basic-regexp --bisect --boundary --branches --cherry --cherry-mark --cherry-pick "
            "--children --clear-decorations --count --date-order --dd --decorate --dense --diff-merges --do-walk "
            "--encoding --exclude-first-parent-only --expand-tabs --extended-regexp --first-parent --fixed-strings "
            "--follow --full-diff --full-history --graph --header --ignore-missing --invert-grep --left-only "
            "--left-right --log-size --mailmap --merge --merges --name-only --name-status --no-abbrev-commit "
            "--no-decorate --no-expand-tabs --no-max-parents --no-merges --no-notes --no-walk --not --notes --objects "
            "--oneline --parents --patch --perl-regexp --pretty --quiet --reflog --regexp-ignore-case --relative-date "
            "--remerge-diff --remotes --remove-empty --reverse --right-only --show-linear-break --show-notes "
            "--show-pulls --show-signature --simplify-by-decoration --simplify-merges --single-worktree --source "
            "--sparse --stat --tags --timestamp --topo-order --unpacked --use-mailmap --walk-reflogs"
        ),
        "values": (
            "-Ln --after --author --before --committer --date --decorate-refs --decorate-refs-exclude --exclude "
            "--exclude-hidden --format --glob --grep --grep-reflog --max-age --max-count --max-parents --min-age "
            "--min-parents --since --since-as-filter --skip --until"
        ),
        "lists": "--stdin",
        "leaves": "--show-signature",
    },
    "ls-files": {
        "is": "plain read-only",
        "flags": (
            "-cdfikmostuvz --abbrev --cached --debug --deduplicate --deleted --directory --empty-directory --eol "
            "--error-unmatch --exclude-standard --full-name --ignored --killed --modified --others "
            "--recurse-submodules --resolve-undo --sparse --stage --unmerged"
        ),
        "values": "-x --exclude --exclude-per-directory --format --with-tree",
        "input": "-X --exclude-from",
        "leaves": "--recurse-submodules",
    },
    "ls-remote": {
        "flags": "-hqt --exit-code --get-url --heads --quiet --refs --symref --tags",
        "values": "-o --exec --server-option --sort --upload-pack",
        "runs": "--exec --upload-pack -o --server-option",
    },
    "ls-tree": {
        "is": "plain read-only",
        "flags": "-dlrtz --abbrev --full-name --full-tree --long --name-only --name-status --object-only",
        "values": "--format",
    },
    "maintenance": {"is": "runs"},
    "merge": {
        "flags": (
            "-enqv --abort --allow-unrelated-histories --autostash --commit --continue --edit --ff --ff-only --log "
            "--no-verify --overwrite-ignore --progress --quiet --quit --rerere-autoupdate --signoff --squash --stat "
            "--summary --verbose --verify --verify-signatures"
        ),
        "values": "-Xms --cleanup --into-name --message --strategy --strategy-option",
        "joined": "-S",
        "input": "-F --file",
        "runs": "--gpg-sign -S",
    },
    "merge-base": {"is": "plain read-only", "flags": "-a --all --fork-point --independent --is-ancestor --octopus"},
    "mergetool": {"is": "runs"},
    "mv": {"is": "writes", "flags": "-fknv --dry-run --force --sparse --verbose"},
    "name-rev": {
        "is": "plain read-only",
        "flags": "--all --always --annotate-stdin --name-only --peel-tag --stdin --tags --undefined",
        "values": "--exclude --refs",
    },
    "notes": {"input": "-F --file"},
    "p4": {"is": "runs"},
    "prune": {"flags": "-nv --dry-run --exclude-promisor-objects --progress --verbose", "values": "--expire"},
    "pull": {
        "flags": (
            "-46afknpqtv --all --allow-unrelated-histories --append --autostash --commit --dry-run --edit --ff "
            "--ff-only --force --ipv4 --ipv6 --jobs --keep --log --progress --prune --quiet --rebase "
            "--recurse-submodules --set-upstream --show-forced-updates --signoff --squash --stat --summary --tags "
            "--unshallow --update-shallow --verbose --verify --verify-signatures"
        ),
        "values": (
            "-Xos --cleanup --deepen --depth --negotiation-tip --refmap --server-option --shallow-exclude "
            "--shallow-since --strategy --strategy-option --upload-pack"
        ),
        "joined": "-Sjr",
        "runs": "--upload-pack -o --server-option --gpg-sign -S",
    },
    "push": {
        "flags": (
            "-46dfnquv --all --atomic --delete --dry-run --follow-tags --force --force-if-includes --force-with-lease "
            "--ipv4 --ipv6 --mirror --no-verify --porcelain --progress --prune --quiet --set-upstream --signed --tags "
            "--thin --verbose --verify"
        ),
        "values": "-o --exec --push-option --receive-pack --recurse-submodules --repo",
        "runs": "--exec --receive-pack",
    },
    "range-diff": {"like": "diff", "is": ""},
    "rebase": {
        "flags": (
            "-fimnqv --abort --allow-empty-message --apply --autosquash --autostash --committer-date-is-author-date "
            "--continue --edit-todo --ff --force-rebase --fork-point --ignore-date --ignore-whitespace --interactive "
            "--keep-base --keep-empty --merge --no-ff --no-stat --no-verify --preserve-merges --quiet --quit "
            "--reapply-cherry-picks --rebase-merges --rerere-autoupdate --reschedule-failed-exec --reset-author-date "
            "--root --show-current-patch --signoff --skip --stat --update-refs --verbose --verify"
        ),
        "values": "-CXs --empty --onto --strategy --strategy-option --whitespace",
        "joined": "-Sr",
        "lines": "-x --exec",
        "runs": "--gpg-sign -S",
    },
    "receive-pack": {"is": "runs"},
    "reflog": {"like": "log", "is": ""},
    "remote": {},
    "remote-ext": {"is": "runs"},
    "remote-fd": {"is": "runs"},
    "repack": {},
    "request-pull": {},
    "rerere": {"is": "runs"},
    "reset": {
        "flags": (
            "-Npq --hard --intent-to-add --keep --merge --mixed --no-refresh --patch --pathspec-file-nul --quiet "
            "--recurse-submodules --refresh --soft"
        ),
        "lists": "--pathspec-from-file",
    },
    "restore": {
        "is": "writes",
        "flags": (
            "-23SWmpq --ignore-skip-worktree-bits --ignore-unmerged --merge --ours --overlay --patch "
            "--pathspec-file-nul --progress --quiet --recurse-submodules --staged --theirs --worktree"
        ),
        "values": "-s --conflict --source",
        "lists": "--pathspec-from-file",
    },
    "rev-list": {"like": "log", "is": "plain read-only"},
    "rev-parse": {
        "is": "plain read-only",
        "flags": (
            "-q --all --abbrev-ref --absolute-git-dir --branches --git-common-dir --git-dir --is-bare-repository "
            "--is-inside-git-dir --is-inside-work-tree --is-shallow-repository --not --quiet --remotes --short "
            "--show-cdup --show-prefix --show-superproject-working-tree --show-toplevel --symbolic "
            "--symbolic-full-name --tags --verify --abbrev --sq --revs-only --no-revs --flags --no-flags "
            "--show-object-format --disambiguate"
        ),
        "values": "--default --prefix --git-path --path-format --resolve-git-dir",
    },
    "revert": {
        "flags": (
            "-ens --abort --commit --continue --edit --no-commit --quit --reference --rerere-autoupdate --signoff "
            "--skip"
        ),
        "values": "-Xm --cleanup --mainline --strategy --strategy-option",
        "joined": "-S",
        "runs": "--gpg-sign -S",
    },
    "rm": {
        "is": "writes",
        "flags": "-fnqr --cached --dry-run --force --ignore-unmatch --pathspec-file-nul --quiet --sparse",
        "lists": "--pathspec-from-file",
    },
    "send-email": {"is": "runs"},
    "sh-setup": {"is": "runs"},
    "shell": {"is": "runs"},
    "shortlog": {
        "like": "log",
        "is": "plain read-only",
        "flags": "-cens --committer --email --numbered --summary",
        "values": "--group",
        "joined": "-w",
    },
    "show": {"like": "log", "is": "plain read-only shows"},
    "show-branch": {},
    "show-ref": {
        "is": "plain read-only",
        "flags": "-dq --abbrev --dereference --exclude-existing --hash --head --heads --quiet --tags --verify",
        "joined": "-s",
    },
    "sparse-checkout": {},
    "stage": {"like": "add"},
    "stash": {"lists": "--pathspec-from-file"},
    "status": {
        "is": "plain read-only",
        "flags": (
            "-bsvz --ahead-behind --branch --column --find-renames --ignore-submodules --ignored --long "
            "--no-ahead-behind --no-renames --null --porcelain --renames --short --show-stash --untracked-files "
            "--verbose"
        ),
        "joined": "-Mu",
    },
    "submodule": {"is": "runs", "but": "init status summary update"},
    "subtree": {"is": "runs"},
    "svn": {"is": "runs"},
    "switch": {
        "flags": (
            "-dfmq --detach --discard-changes --force --guess --ignore-other-worktrees --merge --overwrite-ignore "
            "--progress --quiet --recurse-submodules --track"
        ),
        "values": "-Cc --conflict --create --force-create --orphan",
        "joined": "-t",
    },
    "symbolic-ref": {},
    "tag": {
        "flags": (
            "-adefilsv --annotate --color --column --contains --create-reflog --delete --edit --force --ignore-case "
            "--list --merged --points-at --sign --verify --with --without"
        ),
        "values": "-mu --cleanup --format --local-user --message --no-contains --no-merged --sort",
        "joined": "-n",
        "input": "-F --file",
    },
    "update-index": {},
    "update-ref": {},
    "upload-pack": {"is": "runs"},
    "var": {},
    "verify-commit": {},
    "verify-tag": {},
    "version": {"is": "plain read-only", "flags": "--build-options"},
    "web--browse": {"is": "runs"},
    "whatchanged": {"like": "log", "is": "read-only"},
    "worktree": {},
    "write-tree": {},
}
"""What is known of each subcommand. ``but`` names words behind it with which it runs nothing."""
