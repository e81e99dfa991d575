#!/bin/sh
# Ends a worker's tree when its supervisor dies: guardian.sh ID LOCKS CGROUP TMP GRACE
#
#   ID      the tree's id, found in its members' environment
#   LOCKS   the tree's RLIMIT_LOCKS, found in its members' limits
#   CGROUP  the tree's cgroup folder, or nothing
#   TMP     the worker's temporary folder, removed at the end, or nothing
#   GRACE   hundredths of a second between SIGTERM to the leader and the kill
#
# Runs in its own session, outside the tree's cgroup, and reads lines from its supervisor on standard input:
#
#   leader PID START   who leads the tree (START is field 22 of /proc/PID/stat, on macOS what ps calls lstart)
#   outside            the tree is not in CGROUP: remove that folder, use the census
#   gone               the tree is proven gone: remove the folders and leave
#
# End of file means that the supervisor is gone, however it died: SIGTERM to the leader, the grace (which ends as soon
# as the leader is gone), then SIGKILL for everything that is left, until two looks in a row find nothing.
#
# A fork may fail here, because the tree used up all processes of this user, and a shell ends when it can't fork. Then it
# goes on from its EXIT trap and reads /proc with its own commands; nothing forks any more until the tree is dead.

LIMIT=450 # hundredths of a second for everything

main() {
  id=$1 locks=$2 cgroup=$3 tmp=$4 grace=$5
  leader= started= floor=0 tree=' ' phase=watch nap=nap_short forkless= blanks=$IFS close=')'

  LC_ALL=C PATH=/usr/bin:/bin:/usr/sbin:/sbin
  export LC_ALL PATH
  trap '' HUP INT QUIT TERM PIPE USR1 USR2 ALRM TSTP TTIN TTOU
  cd / || exit 1
  # The variable is for tests: it lets this run on the ps of another system than macOS.
  if [ -z "${GUARDIAN_PS-}" ] && [ -r /proc/self/stat ]; then
    system=linux
    command -v grep >/dev/null && command -v cat >/dev/null || forkless=1
    # Nothing of the tree is older than its guardian, until a leader is named.
    stat_of $$ && floor=$begun
  else
    system=ps
  fi

  echo ready
  exec >/dev/null 2>&1

  while IFS= read -r line; do
    case $line in
      'leader '*)
        line=${line#leader }
        leader=${line%% *}
        started=${line#* }
        [ "$system" = linux ] && floor=$started
        ;;
      outside)
        remove_cgroup
        cgroup=
        ;;
      gone)
        clean_up
        exit 0
        ;;
    esac
  done

  trap 'last_resort' EXIT
  clock
  end=$((now + LIMIT))
  phase=end
  end_tree
  phase=clean
  clean_up
  phase=done
  exit 0
}

# ---- the order of a stop ----

end_tree() {
  sweep remember
  if leader_lives; then
    kill -TERM "$leader"
    # A stopped process handles SIGTERM only once it goes on.
    kill -CONT "$leader"
    clock
    patience=$((now + grace))
    while leader_lives && [ "$now" -lt "$patience" ]; do
      $nap
      clock
    done
    sweep remember
  fi
  kill_all
}

kill_all() {
  empty=0
  while [ "$empty" -lt 2 ]; do
    found=0
    kill_cgroup
    sweep kill
    if [ "$found" = 0 ]; then empty=$((empty + 1)); else empty=0; fi
    clock
    [ "$now" -lt "$end" ] || break
    [ "$found" = 0 ] || $nap
  done
}

# Reached from EXIT: either all is done, or the shell could not fork.
last_resort() {
  [ "$phase" = end ] || return
  nap=: forkless=1 IFS=$blanks
  set +f
  kill_all
  phase=clean
  clean_up
}

kill_cgroup() {
  [ -n "$cgroup" ] || return
  populated=
  { while IFS=' ' read -r key value; do
    [ "$key" = populated ] && populated=$value
  done <"$cgroup/cgroup.events"; } 2>/dev/null
  [ "$populated" = 1 ] || return
  found=1
  echo 1 >"$cgroup/cgroup.kill"
}

clean_up() {
  remove_cgroup
  case $tmp in
    /?*) rm -rf -- "$tmp" ;;
  esac
}

# Cgroups made inside it go first. The kernel lets go of it a moment after the last process.
remove_cgroup() {
  tries=0
  while [ -n "$cgroup" ] && [ -d "$cgroup" ] && [ "$tries" -lt 20 ]; do
    find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null
    [ -d "$cgroup" ] && $nap
    tries=$((tries + 1))
  done
}

# ---- the census ----

# sweep remember|kill: adds the members to $tree, and kills them as they are found.
sweep() {
  rows=' '
  if [ "$system" = linux ]; then linux_rows "$1"; else ps_rows "$1"; fi
  # Children of members and processes in members' sessions, until a round finds no more.
  before=
  while [ "$before" != "$members$sessions" ]; do
    before=$members$sessions
    for row in $rows; do relate "$row" "$1"; done
  done
}

# Fills $rows with pid:parent:session:start of every candidate, $members and $sessions with the ones known by themselves.
# One grep and one cat for the whole machine, because these shells read files byte by byte: 2 ms a process.
linux_rows() {
  members=' ' sessions=' '
  if [ -z "$forkless" ]; then
    find_marks
    table=$(cat /proc/[0-9]*/stat 2>/dev/null)
    case $table in *"$$ ("*) ;; *) forkless=1 ;; esac
  fi
  if [ -n "$forkless" ]; then
    for entry in /proc/[0-9]*; do
      stat_of "${entry#/proc/}" && consider "${entry#/proc/}" "$1"
    done
    return
  fi
  carry=
  set -f
  IFS='
'
  for line in $table; do
    IFS=' '
    # A line break in a program's name: the rest of its line comes next.
    carry=$carry$line
    fields_of "$carry" || continue
    line=${carry%% *}
    carry=
    consider "$line" "$1"
  done
  IFS=$blanks
  set +f
}

# consider PID remember|kill, with the fields of its stat line set
consider() {
  case $state in Z | X | x) return ;; esac
  [ "$begun" -ge "$floor" ] && [ "$1" -gt 1 ] && [ "$1" != $$ ] || return
  row=$1:$parent:$session:$begun
  if { [ "$1" = "$leader" ] && [ "$begun" = "$started" ]; } || in_tree "$1:$begun" || is_marked "$1"; then
    admit "$row" "$2"
  else
    rows="$rows$row "
  fi
}

ps_rows() {
  members=' ' sessions=' '
  # A loop behind a pipe runs in a subshell, and its findings are lost; so the table comes first.
  table=$(ps ${GUARDIAN_PS:--axEww} -o pid=,ppid=,pgid=,stat=,command= |
    awk -v mark="PI_CLAUDE_SUPERVISOR_TREE=[0-9a-f:]*$id" '{ print $1, $2, $3, $4, ($0 ~ mark) }')
  while read -r pid parent session state member; do
    case $state in Z* | '') continue ;; esac
    [ "$pid" != $$ ] && [ "$pid" -gt 1 ] || continue
    [ "$pid" = "$leader" ] && same_start && member=1
    row=$pid:$parent:$session:0
    if [ "$member" = 1 ] || in_tree "$pid:0"; then admit "$row" "$1"; else rows="$rows$row "; fi
  done <<EOT
$table
EOT
}

# admit ROW remember|kill
admit() {
  pid=${1%%:*}
  rest=${1#*:*:}
  group=${rest%%:*}
  birth=${rest#*:}
  members="$members$pid "
  sessions="$sessions$group "
  in_tree "$pid:$birth" || tree="$tree$pid:$birth "
  [ "$2" = kill ] || return
  found=1
  if [ "$system" = ps ] || { stat_of "$pid" && [ "$begun" = "$birth" ]; }; then kill -KILL "$pid"; fi
}

relate() {
  pid=${1%%:*}
  case $members in *" $pid "*) return ;; esac
  parent=${1#*:}
  parent=${parent%%:*}
  group=${1#*:*:}
  group=${group%%:*}
  case $members in *" $parent "*) admit "$1" "$2"; return ;; esac
  case $sessions in *" $group "*) admit "$1" "$2" ;; esac
}

in_tree() {
  case $tree in *" $1 "*) return 0 ;; esac
  return 1
}

# Sets $marks to the pids that carry the tree's number in their limits or the tree's id in their environment.
find_marks() {
  marks=' '
  files=$(grep -ls -e "^Max file locks  *${locks:-none} " -e "PI_CLAUDE_SUPERVISOR_TREE=[0-9a-f:]*$id" \
    /proc/[0-9]*/limits /proc/[0-9]*/environ)
  for file in $files; do
    file=${file#/proc/}
    marks="$marks${file%%/*} "
  done
}

is_marked() {
  if [ -z "$forkless" ]; then
    case $marks in *" $1 "*) return 0 ;; esac
    return 1
  fi
  { while read -r line; do
    case $line in
      "Max file locks"*" ${locks:-none} "*) return 0 ;;
      "Max file locks"*) break ;;
    esac
  done <"/proc/$1/limits"; } 2>/dev/null
  { while IFS= read -r line || [ -n "$line" ]; do
    case $line in *"$id"*) return 0 ;; esac
  done <"/proc/$1/environ"; } 2>/dev/null
  return 1
}

leader_lives() {
  [ -n "$leader" ] || return 1
  if [ "$system" = ps ]; then
    same_start
    return
  fi
  stat_of "$leader" && [ "$begun" = "$started" ] || return 1
  case $state in Z | X | x) return 1 ;; esac
}

same_start() {
  stat=$(ps -o stat= -p "$leader") || return 1
  case $stat in Z*) return 1 ;; esac
  set -- $(ps -o lstart= -p "$leader")
  [ "$*" = "$started" ]
}

# Sets state, parent, session and begun from /proc/PID/stat.
stat_of() {
  text=
  { while IFS= read -r part || [ -n "$part" ]; do text="$text$part "; done <"/proc/$1/stat"; } 2>/dev/null
  fields_of "$text"
}

# The name in parentheses may hold anything, so fields count from the last ")".
fields_of() {
  case $1 in *"$close"*) ;; *) return 1 ;; esac
  set -- ${1##*"$close"}
  [ $# -ge 20 ] || return 1
  state=$1 parent=$2 session=$4 begun=${20}
}

# ---- time ----

# Sets now, in hundredths of a second.
clock() {
  if [ "$system" = linux ]; then
    read -r uptime _ </proc/uptime
    now=$((${uptime%.*} * 100 + 1${uptime#*.} - 100))
  else
    now=$(($(date +%s) * 100))
  fi
}

nap_short() {
  sleep 0.03 2>/dev/null || sleep 1
}

main "$@"; exit $?
