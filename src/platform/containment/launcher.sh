#!/bin/sh
# Becomes the worker: launcher.sh CGROUP LOCKS FILE ARG...
#
# Puts itself under the tree's mark and into the tree's cgroup, tells on descriptor 3 which of them worked, waits there
# for "go", and only then becomes FILE. So nothing of FILE runs outside the cgroup, or before its supervisor has written
# down what to look for. End of file instead of "go" means that the supervisor is gone: nothing is started.
#
# Everything is in one function, so that the shell has read the whole file before it acts on it.

main() {
  cgroup=$1
  locks=$2
  shift 2

  # dash and busybox call this limit -w, bash and zsh -x; systems without it answer no to both.
  marked=unmarked
  if [ -n "$locks" ]; then
    { ulimit -w "$locks" || ulimit -x "$locks"; } 2>/dev/null && marked=marked
  fi

  # 0 is "the process that writes", whatever number it has in which pid namespace.
  joined=outside
  if [ -n "$cgroup" ]; then
    { echo 0 >"$cgroup/cgroup.procs"; } 2>/dev/null && joined=inside
  fi

  echo "$joined $marked" >&3 || exit 125
  IFS= read -r answer <&3 || exit 125
  [ "$answer" = go ] || exit 125
  exec "$@" 3>&-
}

main "$@"; exit $?
