# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs in a machine of tools/verbs-vm: runs the scripts that remote.py puts into the shared folder, one after the other,
# until there is a file `over`. While one runs it does nothing else: that would disturb what the script measures.
cd "$VERBS_VM_SHARE" || exit
mkdir -p "$RANK"
touch "$RANK/up"
until [ -e over ]; do
  for ready in "$RANK"/*.ready; do
    [ -e "$ready" ] || continue
    name=${ready%.ready}
    mv "$ready" "$name.sh"
    status=0
    bash "$name.sh" > "$name.output" 2>&1 < /dev/null || status=$?
    echo "$status" > "$name.part"
    mv "$name.part" "$name.status"
  done
  sleep 0.05
done
