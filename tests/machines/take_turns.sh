# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs in each machine: takes scripts from the shared folder, 0.sh, 1.sh and so on, until there is a file `over`. The
# output of each is in 0.output.RANK, its status in 0.status.RANK.
cd "$VERBS_VM_SHARE" || exit
turn=0
until [ -e over ]; do
  if [ ! -e "$turn.ready" ]; then
    sleep 0.05
    continue
  fi
  status=0
  timeout -k 1 "$(cat "$turn.ready")" bash "$turn.sh" > "$turn.output.$RANK" 2>&1 < /dev/null || status=$?
  echo "$status" > "$turn.part.$RANK"
  mv "$turn.part.$RANK" "$turn.status.$RANK"
  turn=$((turn + 1))
done
