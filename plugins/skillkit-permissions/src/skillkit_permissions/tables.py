"""What is known of programs and of variables: data alone, which :mod:`.programs` explains and reads.

A row is facts and no judgement. What is not here is not known: an unknown program asks. A row with ``flags`` lists every
option of its program; another one only those that matter. The file is long because it is one table, sorted by name.
"""

from collections.abc import Mapping

__all__ = ["CURL_DATA", "FIND", "HARMLESS_VARIABLES", "PROGRAMS", "PYTHON_RUNS", "TAKING_OVER"]

PROGRAMS: Mapping[str, Mapping[str, str]] = {
    ".": {"is": "loads", "files": "read"},
    "7z": {"is": "deep", "files": "read", "runs": "-si"},
    "7za": {"like": "7z"},
    ":": {"is": "plain read-only inert speaks"},
    "R": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "Rscript": {"is": "interpreter ordered", "runs": "-e"},
    "[": {"is": "plain read-only inert speaks"},
    "ack": {
        "is": "deep searches-here",
        "files": "search",
        "values": (
            "-A -B -C -D -T -d -e -g -j -m -t --context --exclude --exclude-dir --glob --include --max-count --regexp "
            "--type"
        ),
        "input": "-f --file",
    },
    "ag": {
        "is": "deep searches-here",
        "files": "search",
        "values": (
            "-A -B -C -D -T -d -e -g -j -m -t --context --exclude --exclude-dir --glob --include --max-count --regexp "
            "--type"
        ),
        "input": "-f --file",
    },
    "apt": {"runs": "--option -c -o"},
    "apt-get": {"like": "apt"},
    "ar": {"is": "skips-first writes-first", "files": "read"},
    "arch": {"is": "read-only"},
    "ash": {"is": "shell"},
    "at": {"is": "loose"},
    "awk": {
        "is": "read-only skips-first ordered",
        "files": "read",
        "flags": "--posix --re-interval --version --traditional --sandbox --lint",
        "values": "-F -v --field-separator --assign",
        "input": "-f --file",
        "runs": (
            "-f --file -e --source -i --include -l --load -E --exec -p --profile -o --pretty-print -d "
            "--dump-variables -D --debug -W"
        ),
    },
    "b2sum": {"like": "md5sum"},
    "base32": {"like": "base64", "files": "read"},
    "base64": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-di --decode --ignore-garbage",
        "values": "-w --wrap",
    },
    "basename": {"is": "plain read-only inert", "flags": "-az --multiple --zero", "values": "-s --suffix"},
    "bash": {"is": "shell", "files": "read"},
    "bat": {"files": "read", "runs": "--pager"},
    "batcat": {"like": "bat", "files": "read"},
    "batch": {"is": "loose"},
    "bind": {"is": "loads"},
    "break": {"is": "inert"},
    "bsdtar": {"like": "tar", "is": "deep", "files": "read"},
    "builtin": {"is": "ordered", "wraps": "same", "flags": "-"},
    "bun": {"is": "interpreter ordered", "runs": "--eval -e -p"},
    "bundle": {"is": "subcommands", "launches": "exec"},
    "bunx": {"is": "loose"},
    "busybox": {"is": "ordered", "wraps": "other"},
    "bwrap": {"is": "loose"},
    "bzcat": {"like": "bzip2", "is": "read-only", "files": "read"},
    "bzip2": {
        "files": "write",
        "flags": (
            "-0123456789LVcdfhkqstvz --best --compress --decompress --fast --force --keep --license --quiet --small "
            "--stdout --test --verbose"
        ),
    },
    "c++": {"like": "gcc"},
    "caffeinate": {"is": "ordered", "wraps": "other", "values": "-t -w"},
    "cal": {"is": "read-only"},
    "capsh": {"is": "loose"},
    "cargo": {"is": "subcommands", "runs": "--config -Z"},
    "cat": {
        "is": "plain read-only",
        "files": "read",
        "flags": (
            "-AETbenstuv --number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs "
            "--squeeze-blank"
        ),
    },
    "catchsegv": {"is": "ordered", "wraps": "other"},
    "cc": {"like": "gcc"},
    "cd": {"is": "read-only"},
    "cgexec": {"is": "loose"},
    "chattr": {"is": "skips-first", "files": "write"},
    "chgrp": {"like": "chown", "is": "deep skips-first", "files": "write"},
    "chmod": {
        "is": "deep skips-first",
        "files": "write",
        "flags": "-Rcfv --changes --no-preserve-root --preserve-root --quiet --recursive --silent --verbose",
        "values": "--reference",
    },
    "chown": {
        "is": "deep skips-first",
        "files": "write",
        "flags": (
            "-HLPRcfhv --changes --dereference --no-dereference --no-preserve-root --preserve-root --quiet "
            "--recursive --silent --verbose"
        ),
        "values": "--from --reference",
    },
    "chpst": {"is": "loose"},
    "chronic": {"is": "loose"},
    "chroot": {"is": "ordered", "wraps": "other", "before": "1", "values": "--groups --userspec"},
    "chrt": {"is": "ordered", "wraps": "other", "before": "1", "values": "-D -P -T -p"},
    "cksum": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-cwz --check --debug --ignore-missing --quiet --status --strict --tag --untagged --warn --zero",
        "values": "-al --algorithm --length",
        "lists": "-c --check",
    },
    "clang": {"like": "gcc"},
    "clang++": {"like": "gcc"},
    "cmp": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-blsv --print-bytes --quiet --silent --verbose",
        "values": "-in --bytes --ignore-initial",
    },
    "column": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-JLVdehtx --fillrows --json --keep-empty-lines --table --table-header-repeat --table-noheadings",
        "values": (
            "-EHNORTWcilnoprs --output-separator --output-width --separator --table-columns --table-columns-limit "
            "--table-hide --table-name --table-noextreme --table-order --table-right --table-truncate --table-wrap "
            "--tree --tree-id --tree-parent"
        ),
    },
    "comm": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-123z --check-order --nocheck-order --total --zero-terminated",
        "values": "--output-delimiter",
    },
    "command": {"is": "ordered", "wraps": "same", "flags": "-pvV"},
    "compgen": {"is": "loose"},
    "complete": {"is": "loads"},
    "conda": {"launches": "run"},
    "continue": {"is": "inert"},
    "coproc": {"is": "loose"},
    "cp": {
        "files": "copy",
        "flags": (
            "-HLPRTZabdfilnprsuvx --archive --attributes-only --backup --context --copy-contents --dereference "
            "--force --interactive --link --no-clobber --no-dereference --no-target-directory --one-file-system "
            "--parents --preserve --recursive --reflink --remove-destination --strip-trailing-slashes --symbolic-link "
            "--update --verbose"
        ),
        "values": "-St --no-preserve --sparse --suffix --target-directory",
    },
    "cpio": {
        "flags": "-0abcdfiklmnoprstuvABLSV --create --extract --pass-through --list --null --make-directories --quiet --verbose",
        "values": "-CEHMR --format --owner",
        "output": "-F -O --file",
        "input": "-I --pattern-file",
        "lists": "-o -p --create --pass-through",
        "moves": "-D --directory",
    },
    "cpulimit": {"is": "loose"},
    "crontab": {"is": "loose"},
    "csh": {"is": "shell"},
    "csplit": {
        "files": "read",
        "flags": "-ksz --elide-empty-files --keep-files --quiet --silent --suppress-matched",
        "values": "-bn --digits --suffix-format",
        "output": "-f --prefix",
    },
    "curl": {
        "files": "fetch",
        "flags": (
            "-#012346BGIJLMNORSVZafgijklnpqsvx --anyauth --append --basic --cert-status --compressed --compressed-ssh "
            "--create-dirs --crlf --digest --disable --disable-eprt --disable-epsv --disallow-username-in-url "
            "--doh-cert-status --doh-insecure --fail --fail-early --fail-with-body --false-start --form-escape "
            "--ftp-create-dirs --ftp-pasv --ftp-pret --ftp-skip-pasv-ip --ftp-ssl-ccc --ftp-ssl-control --get "
            "--globoff --haproxy-protocol --head --http0.9 --http1.0 --http1.1 --http2 --http2-prior-knowledge "
            "--http3 --http3-only --ignore-content-length --include --insecure --ipv4 --ipv6 --junk-session-cookies "
            "--list-only --location --location-trusted --mail-rcpt-allowfails --manual --metalink --negotiate --netrc "
            "--netrc-optional --next --no-alpn --no-buffer --no-clobber --no-keepalive --no-npn --no-progress-meter "
            "--no-sessionid --ntlm --ntlm-wb --parallel --parallel-immediate --path-as-is --post301 --post302 "
            "--post303 --preproxy --progress-bar --proxy --proxy-anyauth --proxy-basic --proxy-digest "
            "--proxy-insecure --proxy-negotiate --proxy-ntlm --proxy-ssl-allow-beast --proxy-ssl-auto-client-cert "
            "--proxy-tlsv1 --proxytunnel --raw --remote-header-name --remote-name --remote-name-all --remote-time "
            "--remove-on-error --retry-all-errors --retry-connrefused --sasl-ir --show-error --silent --socks5-basic "
            "--socks5-gssapi --socks5-gssapi-nec --ssl --ssl-allow-beast --ssl-auto-client-cert --ssl-no-revoke "
            "--ssl-reqd --ssl-revoke-best-effort --sslv2 --sslv3 --styled-output --suppress-connect-headers "
            "--tcp-fastopen --tcp-nodelay --tftp-no-options --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 "
            "--tr-encoding --trace-time --use-ascii --verbose --xattr"
        ),
        "values": (
            "-ACFHKPQUXYbdehmrtuwyz --aws-sigv4 --cert-type --ciphers --config --connect-timeout --connect-to "
            "--continue-at --cookie --create-file-mode --curves --data --data-ascii --data-binary --data-raw "
            "--data-urlencode --delegation --dns-interface --dns-ipv4-addr --dns-ipv6-addr --dns-servers --doh-url "
            "--engine --expect100-timeout --form --form-string --ftp-account --ftp-alternative-to-user --ftp-method "
            "--ftp-port --ftp-ssl-ccc-mode --happy-eyeballs-timeout-ms --header --help --hostpubmd5 --hostpubsha256 "
            "--interface --json --keepalive-time --key-type --krb --limit-rate --local-port --login-options "
            "--mail-auth --mail-from --mail-rcpt --max-filesize --max-redirs --max-time --noproxy --oauth2-bearer "
            "--parallel-max --pass --pinnedpubkey --proto --proto-default --proto-redir --proxy-cert-type "
            "--proxy-ciphers --proxy-header --proxy-key-type --proxy-pass --proxy-pinnedpubkey --proxy-service-name "
            "--proxy-tls13-ciphers --proxy-tlsauthtype --proxy-tlspassword --proxy-tlsuser --proxy-user --proxy1.0 "
            "--quote --range --rate --referer --request --request-target --resolve --retry --retry-delay "
            "--retry-max-time --sasl-authzid --service-name --socks4 --socks4a --socks5 --socks5-gssapi-service "
            "--socks5-hostname --speed-limit --speed-time --telnet-option --tftp-blksize --time-cond --tls-max "
            "--tls13-ciphers --tlsauthtype --tlspassword --tlsuser --url --url-query --user --user-agent --write-out"
        ),
        "output": (
            "-o --output -D --dump-header -c --cookie-jar --alt-svc --etag-save --hsts --libcurl --output-dir "
            "--stderr --trace --trace-ascii"
        ),
        "input": (
            "-T --upload-file -E --cert --key --cacert --capath --pubkey --netrc-file --crlfile --etag-compare "
            "--proxy-cert --proxy-key --proxy-cacert --proxy-capath --proxy-crlfile --unix-socket "
            "--abstract-unix-socket --random-file --egd-file"
        ),
        "runs": "--config --engine --proto-default -K",
    },
    "cut": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-Mnsz --complement --only-delimited --zero-terminated",
        "values": "-bcdf --bytes --characters --delimiter --fields --output-delimiter",
    },
    "daemonize": {"is": "loose"},
    "dash": {"is": "shell", "files": "read"},
    "date": {
        "is": "plain read-only",
        "flags": "-Ru --debug --iso-8601 --resolution --rfc-email --universal --utc",
        "values": "-drs --date --reference --rfc-3339 --set",
        "joined": "-I",
        "input": "-f --file",
        "runs": "--file --set -f -s",
    },
    "dbus-run-session": {"is": "loose"},
    "dd": {"files": "read"},
    "declare": {"flags": "-aAfFgiIlnrtuxp"},
    "delta": {"runs": "--pager"},
    "deno": {"is": "interpreter ordered", "runs": "eval"},
    "df": {
        "is": "plain read-only",
        "files": "look",
        "flags": (
            "-HPTahiklv --all --human-readable --inodes --local --no-sync --output --portability --print-type --si "
            "--sync --total"
        ),
        "values": "-Btx --block-size --exclude-type --type",
    },
    "diff": {
        "is": "plain read-only",
        "files": "read",
        "flags": (
            "-0123456789BENTZabcdeinpqrstuvwxy --brief --color --context --ed --expand-tabs --ignore-all-space "
            "--ignore-blank-lines --ignore-case --ignore-file-name-case --ignore-space-change --ignore-tab-expansion "
            "--ignore-trailing-space --initial-tab --left-column --minimal --new-file --no-dereference "
            "--no-ignore-file-name-case --normal --rcs --recursive --report-identical-files --show-c-function "
            "--side-by-side --speed-large-files --strip-trailing-cr --suppress-blank-empty --suppress-common-lines "
            "--text --unidirectional-new-file --unified"
        ),
        "values": (
            "-CDFISUW --GTYPE-group-format --LTYPE-line-format --exclude --horizon-lines --ifdef "
            "--ignore-matching-lines --label --line-format --palette --show-function-line --starting-file --tabsize "
            "--width"
        ),
        "input": "-X --exclude-from --from-file --to-file",
        "runs": "-l --paginate",
        "leaves": "-r --recursive",
    },
    "diff3": {
        "files": "read",
        "flags": (
            "-3AETXaeimvx --easy-only --ed --initial-tab --merge --overlap-only --show-all --show-overlap "
            "--strip-trailing-cr --text"
        ),
        "values": "-L --label",
        "lines": "--diff-program",
    },
    "dir": {"like": "ls", "is": "read-only"},
    "direnv": {"launches": "exec"},
    "dirname": {"is": "plain read-only inert", "flags": "-z --zero"},
    "doas": {"is": "ordered", "wraps": "other", "values": "-C -u"},
    "docker": {"is": "subcommands carries"},
    "dos2unix": {"files": "write"},
    "dotnet": {"is": "subcommands carries"},
    "dpkg": {"runs": "--install --post-invoke --pre-invoke --status-logger -i"},
    "dpkg-deb": {"is": "loose"},
    "du": {
        "is": "plain read-only",
        "files": "look",
        "flags": (
            "-0DHLPSabchklmsx --all --apparent-size --bytes --count-links --dereference --dereference-args "
            "--human-readable --inodes --no-dereference --null --one-file-system --separate-dirs --si --summarize "
            "--total"
        ),
        "values": "-Bdt --block-size --exclude --max-depth --threshold --time --time-style",
        "input": "-X --exclude-from",
        "lists": "--files0-from",
    },
    "dumb-init": {"is": "loose"},
    "eatmydata": {"is": "ordered", "wraps": "other"},
    "echo": {"is": "plain read-only inert speaks"},
    "ed": {"files": "read"},
    "egrep": {"like": "grep"},
    "elixir": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "emacs": {"files": "read", "runs": "--batch --eval --funcall --load --script -batch -eval -f -l"},
    "emacsclient": {"like": "emacs"},
    "enable": {"is": "loads"},
    "entr": {"is": "loose"},
    "env": {
        "is": "read-only ordered",
        "wraps": "other",
        "flags": (
            "-0iv --block-signal --debug --default-signal --ignore-environment --ignore-signal --list-signal-handling "
            "--null"
        ),
        "values": "-Sau --argv0 --split-string --unset",
        "moves": "-C --chdir",
    },
    "envdir": {"is": "loose"},
    "ex": {"is": "loose"},
    "exec": {"is": "ordered", "wraps": "other", "flags": "-cl", "values": "-a"},
    "exit": {"is": "read-only inert"},
    "expand": {"is": "plain read-only", "files": "read", "flags": "-i --initial", "values": "-t --tabs"},
    "expect": {"is": "loose"},
    "export": {"flags": "-fnp"},
    "fakeroot": {"is": "ordered", "wraps": "other", "values": "-f -i -l -s"},
    "faketime": {"is": "loose"},
    "false": {"is": "plain read-only inert speaks"},
    "fc": {"is": "loose"},
    "fd": {
        "flags": (
            "-01FHILagilpqsu --absolute-path --case-sensitive --fixed-strings --follow --full-path --glob --hidden "
            "--ignore-case --list-details --no-global-ignore-file --no-ignore --no-ignore-parent --no-ignore-vcs "
            "--one-file-system --print0 --prune --quiet --regex --show-errors --strip-cwd-prefix --unrestricted"
        ),
        "values": (
            "-EScdejot --and --base-directory --batch-size --changed-before --changed-within --color --exact-depth "
            "--exclude --extension --format --max-depth --max-results --min-depth --owner --path-separator "
            "--search-path --size --threads --type"
        ),
        "input": "--ignore-file",
        "runs": "-x -X --exec --exec-batch",
    },
    "fdfind": {"like": "fd"},
    "fgrep": {"like": "grep"},
    "file": {
        "is": "plain read-only",
        "files": "read",
        "flags": (
            "-0LNSZbcdhiklnprsvz --apple --brief --checking-printout --debug --dereference --extension --keep-going "
            "--list --mime --mime-encoding --mime-type --no-buffer --no-dereference --no-pad --no-sandbox "
            "--preserve-date --print0 --raw --special-files --uncompress --uncompress-noreport"
        ),
        "values": "-FPe --exclude --exclude-quiet --parameter --separator",
        "input": "-m --magic-file",
        "lists": "-f --files-from",
        "runs": "--compile --magic-file -C -m",
    },
    "find": {"is": "plain read-only", "files": "look", "leaves": "-L -follow"},
    "firejail": {"is": "loose"},
    "fish": {"is": "shell"},
    "flock": {"is": "loose"},
    "fmt": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-0123456789cstu --crown-margin --split-only --tagged-paragraph --uniform-spacing",
        "values": "-gpw --goal --prefix --width",
    },
    "fold": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-0123456789bs --bytes --spaces",
        "values": "-w --width",
    },
    "free": {"is": "read-only"},
    "ftp": {"is": "loose"},
    "fzf": {"runs": "--bind --preview --with-shell"},
    "g++": {"like": "gcc"},
    "gawk": {"like": "awk"},
    "gcc": {"runs": "--specs -B -fplugin -specs -wrapper"},
    "gcp": {"like": "cp"},
    "gdb": {"is": "loose", "runs": "--command --eval-command -ex -iex -ix -x"},
    "gegrep": {"like": "grep"},
    "genv": {"like": "env"},
    "getconf": {"is": "read-only"},
    "gfind": {"like": "find"},
    "ggrep": {"like": "grep"},
    "gh": {"is": "subcommands"},
    "ghci": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "ginstall": {"like": "install"},
    "git": {
        "is": "subcommands ordered",
        "flags": "-P --literal-pathspecs --no-lazy-fetch --no-optional-locks --no-pager --no-replace-objects",
        "values": "-C -c --attr-source --config-env --git-dir --namespace --super-prefix --work-tree",
        "runs": (
            "-C -c -p --attr-source --bare --config-env --exec-path --git-dir --glob-pathspecs --html-path "
            "--icase-pathspecs --info-path --man-path --namespace --noglob-pathspecs --paginate --super-prefix "
            "--work-tree"
        ),
    },
    "gln": {"like": "ln"},
    "gmake": {"like": "make"},
    "gmv": {"like": "mv"},
    "gnice": {"like": "nice"},
    "gnuplot": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "go": {"is": "subcommands carries", "runs": "-exec -modfile -overlay -toolexec -vettool"},
    "gpg": {
        "files": "read",
        "flags": (
            "-Kabcdeiknqsv --always-trust --armor --auto-key-import --batch --card-status --change-passphrase "
            "--change-pin --check-signatures --clear-sign --dearmor --decrypt --delete-keys "
            "--delete-secret-and-public-key --delete-secret-keys --detach-sign --disable-dirmngr --dry-run "
            "--edit-card --edit-key --enarmor --encrypt --export --fingerprint --full-generate-key --generate-key "
            "--generate-revocation --import --include-key-block --interactive --keyid-format-long --list-keys "
            "--list-packets --list-secret-keys --list-signatures --lsign-key --no-armor --no-tty --openpgp --print-md "
            "--quick-add-uid --quick-generate-key --quick-lsign-key --quick-revoke-sig --quick-revoke-uid "
            "--quick-set-expire --quick-sign-key --quiet --receive-keys --refresh-keys --search-keys --send-keys "
            "--server --sign --sign-key --symmetric --textmode --trust-model-pgp --update-trustdb --verbose --verify "
            "--with-colons --yes"
        ),
        "values": (
            "-Nruz --auto-key-locate --cipher-algo --comment --compress-algo --default-key --digest-algo "
            "--display-charset --encrypt-to --export-options --group --homedir --import-options --keyid-format "
            "--keyserver --keyserver-options --list-options --local-user --logger-fd --options --passphrase "
            "--passphrase-fd --pinentry-mode --recipient --sender --set-filename --status-fd --tofu-policy "
            "--trust-model --verify-options"
        ),
        "output": "-o --output --log-file --logger-file --status-file",
        "input": "--passphrase-file --keyring --secret-keyring -f --recipient-file --hidden-recipient-file",
        "lines": "--agent-program --dirmngr-program --photo-viewer --keyboxd-program",
        "runs": (
            "--options --homedir --exec-path --load-extension --attribute-file --command-file --debug-set-iobuf-size "
            "--multifile"
        ),
    },
    "gradle": {"is": "subcommands carries"},
    "grep": {
        "is": "plain read-only",
        "files": "search",
        "flags": (
            "-0123456789EFGHILPRTUVZabchilnoqrsvwxz --basic-regexp --binary --byte-offset --color --colour --count "
            "--dereference-recursive --extended-regexp --files-with-matches --files-without-match --fixed-strings "
            "--ignore-case --initial-tab --invert-match --line-buffered --line-number --line-regexp --no-filename "
            "--no-group-separator --no-ignore-case --no-messages --null --null-data --only-matching --perl-regexp "
            "--quiet --recursive --silent --text --with-filename --word-regexp"
        ),
        "values": (
            "-ABCDdem --after-context --before-context --binary-files --context --devices --directories --exclude "
            "--exclude-dir --group-separator --include --label --max-count --regexp"
        ),
        "input": "-f --file --exclude-from",
        "leaves": "-R --dereference-recursive",
    },
    "grm": {"like": "rm"},
    "groovy": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "groups": {"is": "read-only"},
    "gsed": {"like": "sed"},
    "gsort": {"like": "sort"},
    "gtar": {"like": "tar"},
    "gtime": {"is": "loose"},
    "gtimeout": {"like": "timeout"},
    "guile": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "gunzip": {"like": "gzip"},
    "gvim": {"like": "vim"},
    "gxargs": {"like": "xargs"},
    "gzip": {
        "files": "write",
        "flags": (
            "-0123456789LNVcdfhklnqrtv --best --decompress --fast --force --keep --license --list --name --no-name "
            "--quiet --recursive --rsyncable --stdout --synchronous --test --verbose"
        ),
        "values": "-S --suffix",
    },
    "hash": {"is": "loads"},
    "hatch": {"is": "subcommands carries", "launches": "run"},
    "hd": {"files": "read"},
    "head": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-0123456789qvz --quiet --silent --verbose --zero-terminated",
        "values": "-cn --bytes --lines",
    },
    "hexdump": {
        "is": "plain read-only",
        "files": "read",
        "flags": (
            "-CVbcdhovx --canonical --color --no-squeezing --one-byte-char --one-byte-octal --two-bytes-decimal "
            "--two-bytes-hex --two-bytes-octal"
        ),
        "values": "-ens --format --length --skip",
        "input": "-f --format-file",
        "joined": "-L",
    },
    "hostname": {"is": "read-only", "runs": "-F"},
    "hyperfine": {"is": "loose"},
    "i386": {"is": "loose"},
    "iconv": {"files": "read", "values": "-f -t"},
    "id": {"is": "plain read-only", "flags": "-GZagnruz --context --group --groups --name --real --user --zero"},
    "iex": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "ifne": {"is": "loose"},
    "install": {
        "files": "copy",
        "flags": (
            "-CDTZbcdpsv --backup --compare --context --directory --no-target-directory --preserve-context "
            "--preserve-timestamps --strip --verbose"
        ),
        "values": "-Sgmot --group --mode --owner --suffix --target-directory",
        "lines": "--strip-program",
    },
    "ionice": {"is": "ordered", "wraps": "other", "values": "--class --classdata -P -c -n -p -u"},
    "ipython": {"like": "python"},
    "irb": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "jobs": {"is": "loose"},
    "join": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-iz --check-order --header --ignore-case --nocheck-order --zero-terminated",
        "values": "-12aejotv",
    },
    "journalctl": {"runs": "--pager"},
    "jq": {"is": "read-only skips-first", "files": "read", "runs": "--library-path -L"},
    "jshell": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "julia": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "just": {"is": "subcommands assigns"},
    "ksh": {"is": "shell"},
    "ksh93": {"is": "shell"},
    "kubectl": {"is": "subcommands carries"},
    "ld": {"runs": "--plugin -plugin"},
    "less": {
        "is": "read-only",
        "files": "read",
        "flags": (
            "-#0123456789?ABEFGIJKLMNQRSVWXacdefgimnqrsuw --LINE-NUMBERS --RAW-CONTROL-CHARS --chop-long-lines "
            "--ignore-case --line-numbers --no-init --quit-if-one-screen --raw-control-chars"
        ),
        "values": "-DPbhjptxyz --buffers --max-back-scroll --pattern --prompt --shift --tabs --window",
        "input": "-T --tag-file",
        "runs": "--LOG-FILE --lesskey-content --lesskey-file --lesskey-src --log-file -O -k -o",
    },
    "let": {"is": "loose"},
    "linux32": {"is": "loose"},
    "linux64": {"is": "loose"},
    "lldb": {"is": "loose"},
    "ln": {
        "files": "copy",
        "flags": (
            "-FLPTbdfinrsv --backup --directory --force --interactive --logical --no-dereference "
            "--no-target-directory --physical --relative --symbolic --verbose"
        ),
        "values": "-St --suffix --target-directory",
    },
    "local": {"is": "inert", "flags": "-aAfFgiIlnrtuxp"},
    "locale": {"is": "read-only"},
    "logsave": {"is": "loose"},
    "look": {"files": "read"},
    "ls": {
        "is": "plain read-only",
        "files": "look",
        "flags": (
            "-1ABCDFGHLNQRSUXZabcdfghiklmnoqrstuvx --all --almost-all --author --classify --color --context "
            "--dereference --dereference-command-line --dereference-command-line-symlink-to-dir --directory --dired "
            "--escape --file-type --full-time --group-directories-first --hide-control-chars --human-readable "
            "--hyperlink --ignore-backups --inode --kibibytes --literal --no-group --numeric-uid-gid --quote-name "
            "--recursive --reverse --show-control-chars --si --size --zero"
        ),
        "values": (
            "-ITpw --block-size --format --hide --ignore --indicator-style --quoting-style --sort --tabsize --time "
            "--time-style --width"
        ),
    },
    "lsof": {"is": "read-only"},
    "ltrace": {"is": "ordered", "wraps": "other", "values": "-A -D -F -a -e -l -n -o -p -s -u -x"},
    "lua": {"is": "interpreter ordered", "runs": "-e -l"},
    "luajit": {"like": "lua"},
    "lxc": {"like": "docker"},
    "make": {
        "is": "subcommands assigns",
        "flags": (
            "-BLRSbdehikmnpqrstvw --always-make --check-symlink-times --debug --dry-run --environment-overrides "
            "--ignore-errors --jobs --just-print --keep-going --load-average --max-load --no-builtin-rules "
            "--no-builtin-variables --no-keep-going --no-print-directory --no-silent --output-sync --print-data-base "
            "--print-directory --question --quiet --recon --silent --stop --touch --trace --warn-undefined-variables"
        ),
        "values": "-EIOWjlo --assume-new --assume-old --eval --include-dir --new-file --old-file --what-if",
        "joined": "-Ojl",
        "input": "-f --file --makefile",
        "moves": "-C --directory",
        "runs": "--eval -E",
    },
    "mamba": {"launches": "run"},
    "man": {
        "is": "read-only",
        "flags": (
            "-0123456789?DIKVWZacdfiktuw --all --apropos --ascii --catman --debug --default --ditroff "
            "--global-apropos --ignore-case --location --location-cat --match-case --names-only --nh --no-hyphenation "
            "--no-justification --no-subpages --path --regex --troff --update --usage --warnings --whatis --where "
            "--where-cat --wildcard"
        ),
        "values": (
            "-CELMRSemprs --config-file --encoding --extension --locale --manpath --preprocessor --prompt --recode "
            "--sections --systems"
        ),
        "joined": "-HTX",
        "lines": "-P --pager",
        "runs": "--config-file --html -C -H -T -X -l --local-file --gxditview --troff-device",
    },
    "mapfile": {"is": "loads"},
    "mariadb": {"like": "mysql"},
    "mawk": {"like": "awk"},
    "md5": {"files": "read"},
    "md5sum": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-bctwz --binary --check --ignore-missing --quiet --status --strict --tag --text --warn --zero",
        "lists": "-c --check",
    },
    "mise": {"launches": "exec x"},
    "mkdir": {"files": "write", "flags": "-Zpv --context --parents --verbose", "values": "-m --mode"},
    "mkfifo": {"files": "write", "values": "-m"},
    "mknod": {"files": "write", "values": "-m"},
    "mksh": {"is": "shell"},
    "mktemp": {"flags": "-dqtu --directory --dry-run --quiet", "values": "--suffix", "output": "-p --tmpdir"},
    "more": {"like": "less", "is": "read-only", "files": "read"},
    "mv": {
        "is": "deep",
        "files": "copy",
        "flags": (
            "-TZbfinuv --backup --context --force --interactive --no-clobber --no-target-directory "
            "--strip-trailing-slashes --update --verbose"
        ),
        "values": "-St --suffix --target-directory",
    },
    "mvn": {"is": "subcommands carries"},
    "mysql": {"is": "loose"},
    "nano": {"files": "read"},
    "nawk": {"like": "awk"},
    "nc": {"runs": "--exec --lua-exec --sh-exec -c -e"},
    "ncat": {"like": "nc"},
    "nerdctl": {"like": "docker"},
    "netcat": {"like": "nc"},
    "newgrp": {"is": "loose"},
    "nice": {"is": "ordered", "wraps": "same", "flags": "--help", "values": "-n --adjustment"},
    "nl": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-p --no-renumber",
        "values": (
            "-bdfhilnsvw --body-numbering --footer-numbering --header-numbering --join-blank-lines --line-increment "
            "--number-format --number-separator --number-width --section-delimiter --starting-line-number"
        ),
    },
    "nmap": {"runs": "--script --script-args -iL"},
    "nocorrect": {"is": "loose"},
    "node": {
        "is": "interpreter ordered",
        "files": "read",
        "runs": "--eval --experimental-loader --import --loader --print --require -e -p -r",
    },
    "nodejs": {"like": "node"},
    "noglob": {"is": "loose"},
    "nohup": {"is": "ordered", "wraps": "same", "flags": "--help"},
    "nox": {"is": "subcommands carries"},
    "npm": {
        "is": "subcommands carries",
        "runs": (
            "--call --editor --git --globalconfig --node-options --prefix --script-shell --shell --userconfig "
            "--viewer -C -c edit exec explore x"
        ),
    },
    "nproc": {"is": "plain read-only", "flags": "--all", "values": "--ignore"},
    "npx": {"is": "loose"},
    "nsenter": {"is": "loose"},
    "numactl": {"is": "loose"},
    "nvim": {"like": "vim", "files": "read", "values": "-c"},
    "oc": {"like": "kubectl"},
    "octave": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "od": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-abcdfilosvx --output-duplicates --traditional --width",
        "values": "-ANSjt --address-radix --endian --format --read-bytes --skip-bytes --strings",
        "joined": "-w",
    },
    "openssl": {"files": "read", "runs": "-engine -provider -provider-path engine"},
    "original-awk": {"like": "awk"},
    "osascript": {"runs": "-e"},
    "parallel": {"is": "loose"},
    "paste": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-sz --serial --zero-terminated",
        "values": "-d --delimiters",
    },
    "patch": {
        "files": "write",
        "flags": (
            "-0123456789ENRTZbceflnstuv --backup-if-mismatch --binary --dry-run --merge --no-backup-if-mismatch "
            "--posix --verbose"
        ),
        "values": (
            "-DFVYgpz --basename-prefix --fuzz --get --ifdef --prefix --quoting-style --read-only --reject-format "
            "--strip --suffix --version-control"
        ),
        "output": "-o --output -r --reject-file -B",
        "input": "-i --input",
        "moves": "-d --directory",
    },
    "pdm": {"launches": "run"},
    "perf": {"is": "loose"},
    "perl": {"is": "interpreter ordered", "files": "read", "runs": "-E -I -M -d -e -i -m -x"},
    "php": {"is": "interpreter ordered", "files": "read", "runs": "--run -B -E -F -R -d -r"},
    "pip": {"is": "subcommands", "runs": "--config-settings --python"},
    "pip3": {"like": "pip"},
    "pipenv": {"launches": "run"},
    "pipx": {"is": "loose"},
    "pixi": {"launches": "run"},
    "pkexec": {"is": "ordered", "wraps": "other", "values": "--user"},
    "pnpm": {"like": "npm", "is": "subcommands", "launches": "dlx exec"},
    "pnpx": {"is": "loose"},
    "podman": {"like": "docker"},
    "poetry": {"is": "subcommands", "launches": "run"},
    "pr": {
        "files": "read",
        "flags": (
            "-0123456789FJTacdfmrtv --across --double-space --expand-tabs --form-feed --join-lines --merge "
            "--no-file-warnings --number-lines --omit-header --omit-pagination --output-tabs --sep-string --separator "
            "--show-control-chars --show-nonprinting"
        ),
        "values": (
            "-DNWhlow --columns --date-format --first-line-number --header --indent --length --page-width --width"
        ),
        "joined": "-Seins",
    },
    "prename": {"files": "write"},
    "printenv": {"is": "read-only", "flags": "-0 --null"},
    "printf": {"is": "plain read-only inert speaks ordered"},
    "prlimit": {"is": "loose"},
    "proot": {"is": "loose"},
    "proxychains": {"is": "loose"},
    "proxychains4": {"is": "loose"},
    "ps": {"is": "read-only"},
    "psql": {"is": "loose"},
    "pwd": {"is": "plain read-only", "flags": "-LP --logical --physical"},
    "pwsh": {"is": "shell"},
    "pypy": {"like": "python"},
    "pypy3": {"like": "python"},
    "pytest": {"runs": "--confcutdir --rootdir -c -p"},
    "python": {
        "is": "interpreter ordered",
        "files": "read",
        "flags": "-3?BEIOPRSVbdhqstuvx",
        "values": "-WXm --check-hash-based-pycs",
        "runs": "-c -i",
        "ends": "-c -m",
    },
    "python2": {"like": "python"},
    "python3": {"like": "python"},
    "racket": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "rake": {"is": "subcommands carries"},
    "raku": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "rbash": {"is": "shell"},
    "rclone": {"is": "loose"},
    "read": {"is": "ordered", "flags": "-ers", "values": "-adinNptu"},
    "readarray": {"is": "loads"},
    "readlink": {
        "is": "plain read-only",
        "files": "look",
        "flags": (
            "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent "
            "--verbose --zero"
        ),
    },
    "readonly": {"flags": "-aAfFgiIlnrtuxp"},
    "realpath": {
        "is": "plain read-only",
        "files": "look",
        "flags": (
            "-LPemqsz --canonicalize-existing --canonicalize-missing --logical --no-symlinks --physical --quiet "
            "--strip --zero"
        ),
        "values": "--relative-base --relative-to",
    },
    "rename": {"files": "write"},
    "return": {"is": "inert"},
    "rev": {"is": "plain read-only", "files": "read", "flags": "-Vh"},
    "rg": {
        "is": "plain read-only deep searches-here",
        "files": "search",
        "flags": (
            "-.0123456789FHILNPSUacilnopqsuvwx --auto-hybrid-regex --binary --block-buffered --byte-offset "
            "--case-sensitive --column --count --count-matches --crlf --debug --files --files-with-matches "
            "--files-without-match --fixed-strings --follow --glob-case-insensitive --heading --hidden --ignore-case "
            "--include-zero --invert-match --json --line-buffered --line-number --line-regexp --max-columns-preview "
            "--mmap --multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore --no-ignore-dot "
            "--no-ignore-global --no-ignore-parent --no-ignore-vcs --no-line-number --no-messages --no-mmap "
            "--no-unicode --null --null-data --one-file-system --only-matching --passthru --pcre2 --pretty --print0 "
            "--quiet --smart-case --sort-files --stats --text --trace --trim --type-list --unicode --unrestricted "
            "--vimgrep --with-filename --word-regexp"
        ),
        "values": (
            "-ABCEMTdegjmrt --after-context --before-context --color --colors --context --context-separator "
            "--dfa-size-limit --encoding --engine --field-context-separator --field-match-separator --generate --glob "
            "--hyperlink-format --iglob --max-columns --max-count --max-depth --max-filesize --maxdepth "
            "--path-separator --pre-glob --regex-size-limit --regexp --replace --sort --sortr --threads --type "
            "--type-add --type-clear --type-not"
        ),
        "input": "-f --file --ignore-file",
        "runs": "--hostname-bin --pre --search-zip -z",
        "leaves": "-L --follow",
    },
    "ripgrep": {"like": "rg"},
    "rlwrap": {"is": "ordered", "wraps": "other", "values": "-C -H -O -P -S -f -l -q -s -z"},
    "rm": {
        "is": "deep",
        "files": "write",
        "flags": (
            "-IRdfirv --dir --force --interactive --no-preserve-root --one-file-system --preserve-root --recursive "
            "--verbose"
        ),
    },
    "rmdir": {"files": "write", "flags": "-pv --ignore-fail-on-non-empty --parents --verbose"},
    "rsync": {
        "is": "remote",
        "files": "copy",
        "flags": (
            "-04568ACDEFHIJKLNOPRSUWXabcdghiklmnopqrtuvxyz --acls --append --append-verify --archive --atimes "
            "--backup --blocking-io --checksum --compress --copy-dirlinks --copy-links --copy-unsafe-links --crtimes "
            "--cvs-exclude --delete --delete-after --delete-before --delete-delay --delete-during --delete-excluded "
            "--delete-missing-args --devices --dirs --dry-run --executability --existing --fake-super --force --from0 "
            "--fsync --fuzzy --group --hard-links --human-readable --ignore-errors --ignore-existing "
            "--ignore-missing-args --ignore-times --implied-dirs --inplace --ipv4 --ipv6 --itemize-changes "
            "--keep-dirlinks --links --list-only --mkpath --msgs2stderr --munge-links --no-motd --numeric-ids "
            "--old-args --omit-dir-times --omit-link-times --one-file-system --open-noatime --owner --partial --perms "
            "--preallocate --progress --protect-args --prune-empty-dirs --quiet --recursive --relative "
            "--remove-source-files --safe-links --secluded-args --size-only --sparse --specials --stats --super "
            "--times --trust-sender --update --verbose --whole-file --xattrs"
        ),
        "values": (
            "-@Bf --address --block-size --bwlimit --cc --checksum-choice --checksum-seed --chmod --chown "
            "--compress-choice --compress-level --contimeout --copy-as --debug --exclude --filter --groupmap --iconv "
            "--include --info --log-file-format --max-alloc --max-delete --max-size --min-size --modify-window "
            "--out-format --outbuf --port --protocol --skip-compress --sockopts --stop-after --stop-at --suffix "
            "--timeout --usermap --zc --zl"
        ),
        "output": "-T --temp-dir --log-file --write-batch --only-write-batch --backup-dir --partial-dir",
        "input": (
            "--exclude-from --include-from --password-file --read-batch --compare-dest --copy-dest --link-dest "
            "--early-input"
        ),
        "lists": "--files-from",
        "lines": "-e --rsh --rsync-path",
        "runs": "--config --daemon --remote-option -M",
    },
    "ruby": {"is": "interpreter ordered", "files": "read", "runs": "-I -e -i -r"},
    "run-parts": {"is": "loose"},
    "run0": {"is": "loose"},
    "runuser": {"is": "loose"},
    "rvim": {"like": "vim"},
    "rye": {"launches": "run"},
    "sbcl": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "scala": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "scp": {
        "is": "remote",
        "files": "copy",
        "flags": "-346ABCORTpqrsv",
        "values": "-PXcl",
        "input": "-i",
        "runs": "-D -F -J -S -o",
    },
    "screen": {"is": "loose"},
    "script": {"is": "loose"},
    "sdiff": {
        "files": "read",
        "flags": (
            "-BEHWZabdilstv --expand-tabs --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change "
            "--ignore-tab-expansion --ignore-trailing-space --left-column --minimal --speed-large-files "
            "--strip-trailing-cr --suppress-common-lines --text"
        ),
        "values": "-Iw --ignore-matching-lines --tabsize --width",
        "output": "-o --output",
        "lines": "--diff-program",
    },
    "sed": {
        "is": "plain read-only",
        "flags": (
            "-Enrsuz --debug --follow-symlinks --in-place --null-data --posix --quiet --regexp-extended --sandbox "
            "--separate --silent --unbuffered"
        ),
        "values": "-el --expression --line-length",
        "joined": "-i",
        "input": "-f --file",
        "runs": "-f --file",
    },
    "sem": {"is": "loose"},
    "seq": {"is": "plain read-only", "flags": "-w --equal-width", "values": "-fs --format --separator"},
    "set": {"is": "ordered", "flags": "-efux", "values": "-o"},
    "setarch": {"is": "loose"},
    "setfacl": {"files": "write", "values": "-M -X -m -x"},
    "setpriv": {"is": "loose"},
    "setsid": {"is": "ordered", "wraps": "other"},
    "setuidgid": {"is": "loose"},
    "sftp": {"is": "loose"},
    "sg": {"is": "loose"},
    "sh": {"is": "shell", "files": "read"},
    "sha1sum": {"like": "md5sum"},
    "sha224sum": {"like": "md5sum"},
    "sha256sum": {"like": "md5sum"},
    "sha384sum": {"like": "md5sum"},
    "sha512sum": {"like": "md5sum"},
    "shasum": {"files": "read", "values": "-a"},
    "shift": {"is": "inert"},
    "shopt": {"is": "loose"},
    "shred": {
        "files": "write",
        "flags": "-fuvxz --exact --force --remove --verbose --zero",
        "values": "-ns --iterations --random-source --size",
    },
    "shuf": {
        "files": "read",
        "flags": "-erz --echo --repeat --zero-terminated",
        "values": "-in --head-count --input-range",
        "output": "-o --output",
        "input": "--random-source",
    },
    "sleep": {"is": "read-only inert"},
    "softlimit": {"is": "loose"},
    "sort": {
        "is": "plain read-only",
        "files": "read",
        "flags": (
            "-CMRVbcdfghimnrsuz --check --debug --dictionary-order --general-numeric-sort --human-numeric-sort "
            "--ignore-case --ignore-leading-blanks --ignore-nonprinting --merge --month-sort --numeric-sort "
            "--random-sort --reverse --stable --unique --version-sort --zero-terminated"
        ),
        "values": "-Skt --batch-size --buffer-size --field-separator --key --parallel --sort",
        "output": "-o --output -T --temporary-directory",
        "input": "--random-source",
        "lists": "--files0-from",
        "lines": "--compress-program",
    },
    "source": {"is": "loads", "files": "read"},
    "split": {
        "is": "writes-second",
        "files": "read",
        "flags": "-deux --elide-empty-files --hex-suffixes --numeric-suffixes --unbuffered --verbose",
        "values": "-Cablnt --additional-suffix --bytes --line-bytes --lines --number --separator --suffix-length",
        "lines": "--filter",
    },
    "sponge": {"files": "write"},
    "sqlite3": {"runs": "-cmd -init"},
    "srm": {"is": "deep", "files": "write"},
    "ssh": {
        "is": "ordered carries",
        "flags": "-46ACGKMNTVXYafgknqstvxy",
        "values": "-BOQWbcelmp",
        "input": "-i",
        "runs": "-D -E -F -I -J -L -R -S -o -w",
    },
    "ssh-agent": {"is": "loose"},
    "start-stop-daemon": {"is": "loose"},
    "stat": {
        "is": "plain read-only",
        "files": "look",
        "flags": "-Lft --dereference --file-system --terse",
        "values": "-c --cached --format --printf",
    },
    "stdbuf": {"is": "ordered", "wraps": "same", "flags": "--help", "values": "-eio --error --input --output"},
    "strace": {"is": "ordered", "wraps": "other", "values": "-E -I -O -P -S -X -a -b -e -o -p -s -u"},
    "strings": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-UVadfhovw --all --data --include-all-whitespace --print-file-name",
        "values": "-Tenst --bytes --encoding --output-separator --radix --target --unicode",
    },
    "su": {"is": "loose"},
    "sudo": {
        "is": "ordered",
        "wraps": "other",
        "flags": (
            "-AbEeHiKklnPSsVvB --askpass --background --bell --edit --login --reset-timestamp --list "
            "--non-interactive --preserve-env --preserve-groups --remove-timestamp --set-home --shell --stdin "
            "--validate"
        ),
        "values": (
            "--chroot --group --host --prompt --role --type --user --close-from --command-timeout --other-user -C -R "
            "-T -U -a -c -g -h -p -r -t -u"
        ),
        "moves": "-D --chdir",
    },
    "sum": {"is": "plain read-only", "files": "read", "flags": "-rs --sysv"},
    "swipl": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "systemd-run": {"is": "loose"},
    "tac": {"is": "plain read-only", "files": "read", "flags": "-br --before --regex", "values": "-s --separator"},
    "tail": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-0123456789Ffqvz --follow --quiet --retry --silent --verbose --zero-terminated",
        "values": "-cns --bytes --lines --max-unchanged-stats --pid --sleep-interval",
    },
    "tar": {
        "is": "deep bundled",
        "files": "read",
        "flags": (
            "-0123456789?ABGJMOPRSUWZacdhijklmnoprstuvwxz --absolute-names --acls --anchored --append "
            "--atime-preserve --auto-compress --backup --block-number --bzip2 --catenate --check-device --check-links "
            "--checkpoint --clamp-mtime --compare --compress --concatenate --confirmation --create "
            "--delay-directory-restore --delete --dereference --diff --exclude-backups --exclude-caches "
            "--exclude-caches-all --exclude-caches-under --exclude-vcs --exclude-vcs-ignores --extract --force-local "
            "--full-time --get --gunzip --gzip --hard-dereference --ignore-case --ignore-command-error "
            "--ignore-failed-read --ignore-zeros --incremental --interactive --keep-directory-symlink "
            "--keep-newer-files --keep-old-files --list --lzip --lzma --lzop --multi-volume --no-acls --no-anchored "
            "--no-auto-compress --no-check-device --no-delay-directory-restore --no-ignore-case "
            "--no-ignore-command-error --no-null --no-overwrite-dir --no-recursion --no-same-owner "
            "--no-same-permissions --no-seek --no-selinux --no-unquote --no-verbatim-files-from --no-wildcards "
            "--no-wildcards-match-slash --no-xattrs --null --numeric-owner --occurrence --old-archive "
            "--one-file-system --one-top-level --overwrite --overwrite-dir --portability --posix --preserve-order "
            "--preserve-permissions --read-full-records --recursion --recursive-unlink --remove-files --restrict "
            "--same-order --same-owner --same-permissions --seek --selinux --show-defaults --show-omitted-dirs "
            "--show-snapshot-field-ranges --show-stored-names --show-transformed-names --skip-old-files --sparse "
            "--test-label --to-stdout --totals --touch --uncompress --ungzip --unlink-first --unquote --update "
            "--usage --utc --verbatim-files-from --verbose --verify --wildcards --wildcards-match-slash --xattrs --xz "
            "--zstd"
        ),
        "values": (
            "-HKLNVbf --after-date --blocking-factor --exclude --exclude-ignore --exclude-ignore-recursive "
            "--exclude-tag --exclude-tag-all --exclude-tag-under --file --format --group --group-map --hole-detection "
            "--label --level --mode --mtime --newer --newer-mtime --no-quote-chars --owner --owner-map --pax-option "
            "--quote-chars --quoting-style --record-size --sort --sparse-version --starting-file --strip-components "
            "--suffix --tape-length --transform --warning --xattrs-exclude --xattrs-include --xform"
        ),
        "output": "-g --listed-incremental --index-file --volno-file",
        "input": "-X --exclude-from --add-file",
        "lists": "-T --files-from",
        "moves": "-C --directory",
        "lines": (
            "-F -I --checkpoint-action --info-script --new-volume-script --rmt-command --rsh-command --to-command "
            "--use-compress-program"
        ),
    },
    "task": {"is": "subcommands assigns"},
    "taskset": {"is": "ordered", "wraps": "other", "before": "1"},
    "tclsh": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "tcpdump": {"runs": "-w -z"},
    "tcsh": {"is": "shell"},
    "tee": {"files": "write", "flags": "-aip --append --ignore-interrupts --output-error"},
    "terraform": {"is": "subcommands"},
    "test": {"is": "plain read-only inert speaks"},
    "time": {
        "is": "ordered",
        "wraps": "same",
        "flags": "-apvqV --append --portability --verbose --quiet",
        "values": "-f --format",
        "output": "-o --output",
    },
    "timeout": {
        "is": "ordered",
        "wraps": "same",
        "before": "1",
        "flags": "-v --foreground --preserve-status --verbose",
        "values": "-ks --kill-after --signal",
    },
    "tini": {"is": "loose"},
    "tmux": {"is": "loose"},
    "torsocks": {"is": "loose"},
    "touch": {
        "files": "write",
        "flags": "-acfhm --no-create --no-dereference",
        "values": "-drt --date --reference --time",
    },
    "tox": {"is": "subcommands carries"},
    "toybox": {"is": "ordered", "wraps": "other"},
    "tr": {"is": "plain read-only", "flags": "-Ccdst --complement --delete --squeeze-repeats --truncate-set1"},
    "trash": {"is": "deep", "files": "write"},
    "tree": {
        "is": "plain read-only",
        "files": "look",
        "flags": (
            "-ACDFJNQRSUXacdfghilnpqrstuvx --compress --device --dirsfirst --du --filesfirst --fromfile --fromtabfile "
            "--gitignore --ignore-case --info --inodes --matchdirs --metafirst --nolinks --noreport --prune --si"
        ),
        "values": "-HILPT --charset --filelimit --gitfile --hintro --houtro --infofile --sort --timefmt",
        "output": "-o --output",
        "runs": "-R",
    },
    "true": {"is": "plain read-only inert speaks"},
    "truncate": {"files": "write", "flags": "-co --io-blocks --no-create", "values": "-rs --reference --size"},
    "ts": {"is": "loose"},
    "tsocks": {"is": "loose"},
    "tty": {"is": "plain read-only", "flags": "-s --quiet --silent"},
    "type": {"is": "plain read-only", "flags": "-afptP"},
    "typeset": {"flags": "-aAfFgiIlnrtuxp"},
    "uname": {
        "is": "plain read-only",
        "flags": (
            "-aimnoprsv --all --hardware-platform --kernel-name --kernel-release --kernel-version --machine "
            "--nodename --operating-system --processor"
        ),
    },
    "unbuffer": {"is": "ordered", "wraps": "other"},
    "unclutter": {"is": "loose"},
    "unexpand": {"is": "plain read-only", "files": "read", "flags": "-a --all --first-only", "values": "-t --tabs"},
    "uniq": {
        "is": "plain read-only writes-second",
        "files": "read",
        "flags": "-0123456789Dcdiuz --all-repeated --count --group --ignore-case --repeated --unique --zero-terminated",
        "values": "-fsw --check-chars --skip-chars --skip-fields",
    },
    "unix2dos": {"files": "write"},
    "unlink": {"files": "write"},
    "unshare": {"is": "loose"},
    "unsquashfs": {"files": "read", "output": "-d"},
    "unzip": {"files": "read", "output": "-d"},
    "uptime": {"is": "plain read-only", "flags": "-Vhps --pretty --since"},
    "uv": {"is": "subcommands", "launches": "run"},
    "uvx": {"is": "loose"},
    "vagrant": {"like": "docker"},
    "valgrind": {"is": "loose"},
    "vdir": {"like": "ls"},
    "vi": {"like": "vim", "files": "read", "values": "-c"},
    "view": {"like": "vim", "files": "read", "values": "-c"},
    "vim": {
        "files": "read",
        "values": "-c",
        "runs": "--cmd --remote --servername --startuptime -S -U -W -c -es -i -s -u -w",
    },
    "vimdiff": {"like": "vim", "files": "read"},
    "wait": {"flags": "-fn", "values": "-p"},
    "watch": {"is": "ordered", "wraps": "other", "values": "--equexit --interval -n -q"},
    "wc": {
        "is": "plain read-only",
        "files": "read",
        "flags": "-Lclmw --bytes --chars --lines --max-line-length --words",
        "lists": "--files0-from",
    },
    "wget": {
        "files": "fetch",
        "flags": (
            "-46EFHKLNSVbcdhkmnpqrvx --adjust-extension --ask-password --auth-no-challenge --background "
            "--backup-converted --content-disposition --content-on-error --continue --convert-file-only "
            "--convert-links --debug --delete-after --follow-ftp --force-directories --force-html "
            "--ftps-clear-data-connection --ftps-fallback-to-ftp --ftps-implicit --ftps-resume-ssl --https-only "
            "--ignore-case --ignore-length --inet4-only --inet6-only --keep-session-cookies --max-redirect --mirror "
            "--no-cache --no-check-certificate --no-clobber --no-config --no-cookies --no-directories --no-dns-cache "
            "--no-glob --no-host-directories --no-hsts --no-http-keep-alive --no-if-modified-since --no-iri "
            "--no-netrc --no-parent --no-passive-ftp --no-proxy --no-remove-listing --no-use-server-timestamps "
            "--no-verbose --no-warc-compression --no-warc-digests --no-warc-keep-log --page-requisites "
            "--preserve-permissions --protocol-directories --quiet --random-wait --recursive --relative "
            "--retr-symlinks --retry-connrefused --save-headers --server-response --show-progress --span-hosts "
            "--spider --strict-comments --timestamping --trust-server-names --unlink --verbose --warc-cdx --xattr"
        ),
        "values": (
            "-ABDIQRTUXeltw --accept --accept-regex --backups --base --bind-address --body-data --certificate-type "
            "--ciphers --compression --config --connect-timeout --cut-dirs --default-page --dns-timeout --domains "
            "--exclude-directories --exclude-domains --execute --follow-tags --ftp-password --ftp-user --header "
            "--http-password --http-user --ignore-tags --include-directories --level --limit-rate --local-encoding "
            "--method --password --post-data --prefer-family --private-key-type --progress --proxy-password "
            "--proxy-user --quota --read-timeout --referer --regex-type --reject --reject-regex --remote-encoding "
            "--report-speed --restrict-file-names --retry-on-http-error --secure-protocol --start-pos --timeout "
            "--tries --use-askpass --user --user-agent --wait --waitretry --warc-header --warc-max-size"
        ),
        "output": (
            "-O --output-document -o --output-file -a --append-output -P --directory-prefix --save-cookies "
            "--rejected-log --hsts-file --warc-file --warc-tempdir"
        ),
        "input": (
            "--post-file --body-file --load-cookies --ca-certificate --ca-directory --certificate --private-key "
            "--crl-file --random-file --egd-file --warc-dedup --pinnedpubkey -i --input-file"
        ),
        "runs": "--config --execute --input-file --use-askpass -e -i",
    },
    "whereis": {"is": "read-only"},
    "which": {"is": "plain read-only", "flags": "-as"},
    "whoami": {"is": "plain read-only", "flags": "--help"},
    "wireshark": {"runs": "-X"},
    "wish": {"is": "interpreter ordered", "files": "read", "runs": "--eval --execute --print -E -L -c -e -g -i"},
    "x86_64": {"is": "loose"},
    "xargs": {
        "is": "ordered",
        "wraps": "other",
        "flags": (
            "-0oprtx --eof --exit --interactive --no-run-if-empty --null --open-tty --replace --show-limits --verbose"
        ),
        "values": "-EILPdns --delimiter --max-args --max-chars --max-lines --max-procs --process-slot-var",
        "joined": "-eil",
        "lists": "-a --arg-file",
    },
    "xdotool": {"is": "loose"},
    "xmllint": {"files": "read", "values": "--xpath"},
    "xvfb-run": {"is": "loose"},
    "xxd": {"is": "plain read-only writes-second", "files": "read", "flags": "-CEabdehinruv", "values": "-cglos"},
    "xz": {
        "files": "write",
        "flags": (
            "-0123456789HVcdefhklqtvz --files --files0 --compress --decompress --extreme --force --keep --list "
            "--long-help --quiet --stdout --test --verbose"
        ),
        "values": "-CFMST --block-size --check --format --memlimit --suffix --threads",
        "lists": "--files --files0",
    },
    "xzcat": {"like": "xz", "is": "read-only", "files": "read"},
    "yarn": {"like": "npm", "is": "subcommands", "launches": "dlx exec"},
    "yash": {"is": "shell"},
    "yq": {"is": "skips-first", "files": "read"},
    "zcat": {"like": "gzip", "is": "read-only", "files": "read"},
    "zgrep": {"like": "grep", "files": "search"},
    "zip": {
        "is": "deep writes-first",
        "files": "read",
        "output": "-O --output-file",
        "lists": "-@",
        "runs": "--unzip-command -T -TT",
    },
    "zless": {"files": "read"},
    "zsh": {"is": "shell", "files": "read"},
    "zstd": {"files": "write", "output": "-o", "input": "-D --patch-from", "lists": "--filelist"},
}
"""What is known of each program; :class:`~.programs.Program` says what the words mean."""

FIND: Mapping[str, str] = {
    "takes none": (
        "! ( ) , -a -and -d -daystart -depth -empty -executable -false -follow -H -ignore_readdir_race -L -ls -mount -nogroup "
        "-noignore_readdir_race -noleaf -not -nouser -nowarn -o -or -P -print -print0 -prune -quit -readable -true -warn "
        "-writable -xdev"
    ),
    "takes one": (
        "-amin -anewer -atime -cmin -cnewer -context -ctime -D -fstype -gid -group -ilname -iname -inum -ipath -iregex "
        "-iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path -perm -printf -regex -regextype "
        "-samefile -size -type -uid -used -user -wholename -xtype"
    ),
    "runs": "-exec -execdir -ok -okdir",
    "lists": "-files0-from",
    "output": "-fls -fprint -fprint0 -fprintf",
    "changes": "-delete",
}
"""The words of an expression of find: those that take no value, one, a command up to ``;``, a list of names, a file."""

CURL_DATA: Mapping[str, str] = {
    "data": "-d",
    "data-ascii": "",
    "data-binary": "",
    "data-urlencode": "",
    "form": "-F",
    "header": "-H",
    "json": "",
    "proxy-header": "",
    "url-query": "",
    "variable": "",
    "url": "",
    "write-out": "-w",
}
"""Options of curl whose value may name a file behind ``@`` or ``<``, each with its short form."""

PYTHON_RUNS = "asyncio bdb cProfile code doctest idlelib pdb profile pyclbr runpy site timeit trace turtledemo"
"""Modules of Python that run code of their arguments or their input behind ``-m``."""

HARMLESS_VARIABLES = (
    "CGO_ENABLED CI CLICOLOR COLORTERM COLUMNS FORCE_COLOR GOARCH GOOS GREP_COLOR GREP_COLORS HISTSIZE LANG "
    "LANGUAGE LINES LS_COLORS NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING "
    "PYTHONUNBUFFERED PYTHONUTF8 RUST_BACKTRACE RUST_LOG SOURCE_DATE_EPOCH TERM TMOUT TZ"
)
"""Variables that change nothing a rule was given for, besides ``LC_*``."""

TAKING_OVER = (
    "PATH LD_* DYLD_* BASH_* ENV IFS SHELL SHELLOPTS BASHOPTS PS[0-9] PROMPT_COMMAND CDPATH HOME GIT_* SSH_* "
    "*PAGER *EDITOR VISUAL BROWSER LESS* NODE_* NPM_* npm_* PYTHON* PERL* RUBY* RUSTC* CARGO_* JAVA_* "
    "_JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_* GRADLE_* MAKE* GNUMAKEFLAGS CC CXX LUA_* GCONV_PATH TAR_OPTIONS "
    "RSYNC_* CVS_* DOCKER_* *_COMMAND *_ASKPASS *_WRAPPER"
)
"""Variables, with stars, that may make another program run than the one that is named."""
