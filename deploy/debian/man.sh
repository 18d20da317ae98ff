#!/usr/bin/env bash
# Prints berth(1), made of the help of each command.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Help as it is, except what roff would read.
verbatim() {
  echo .nf
  sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'\'']\)/\\\&\1/'
  echo .fi
}

help=$(COLUMNS=80 bin/berth --help)
cat <<END
.TH BERTH 1 "" "Berth $(bin/berth --version | head -n 1 | sed "s/^[Bb]erth *//; s/ (.*//")"
.SH NAME
berth \\- serving runtime and request router for the JVM
.SH DESCRIPTION
END
verbatim <<<"$help"
cat <<'END'
.SH HEALTH
.B berth health
.RI [ HOST:PORT ]
starts no Java. It requests /\-/healthz there, or at
.BR $BERTH_HEALTH ,
or at 127.0.0.1:8265. The exit code is 0 if the answer is 200.
.SH ENVIRONMENT
.TP
.B JAVA_HOME
Home of the Java to use; without it, the Java of the PATH.
.TP
.B BERTH_JAVA_OPTS
Options of the JVM.
.TP
.B BERTH_TMPDIR
Folder for the temporary files of servers.
END
# Commands are the rows of the help after "Commands:", with two blanks before their names.
sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$help" | while read -r command; do
  echo ".SH BERTH ${command^^}"
  bin/berth "$command" --help </dev/null | verbatim
done
cat <<'END'
.SH FILES
.TP
.I /etc/berth/berth.yaml
Configuration of berth.service.
.TP
.I /etc/default/berth
Environment of the units.
.TP
.I /var/lib/berth
Deployed applications and temporary files.
END
