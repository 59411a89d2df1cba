#!/bin/sh
# A benchmark that speaks the cell protocol on a card whose clock it sets itself: what the tool in `tools/` reads is what
# `notes/clock` says. Its own clock is that of the card's readings, so that rows and readings fall together.
#
# clocked.sh OPERATOR. Side B of round 2 runs at 1900 MHz instead of 1980, the first time for `once`, always for `ever`.
set -eu
export LC_ALL=C
if [ -n "${SWITCHBACK_LIST:-}" ]; then
    echo '[{"operator":"once"},{"operator":"ever"}]'
    exit 0
fi
operator=$1
cd "$SWITCHBACK_RUN_DIR"
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" order.json | head -n 1; }
purpose=$(field purpose)
side=${purpose##*_}
clock=1980
if [ "$purpose" = r2_B ]; then
    [ "$operator" = once ] && [ "${PWD##*/}" -gt 1 ] || clock=1900
fi
notes=../../../../../notes
echo $clock > $notes/clock
echo "$operator $purpose" >> $notes/cells
event() { printf '{"t_s":%s,%s}\n' "$(tail -n 1 telemetry.tsv | cut -f 8)" "$1" >> events.jsonl; }
wait_for_readings() {
    lines=$(($(cat telemetry.tsv 2> /dev/null | wc -l) + $1))
    while [ "$(cat telemetry.tsv 2> /dev/null | wc -l)" -lt $lines ]; do sleep 0.01; done
}
wait_for_readings 2
case='"case":{"dtype":"f32","input":"[8]","occurrence":0}'
event '"kind":"start","pid":'$$
printf '%s' "code of ${MY_PASS:-none}" > text
sha=$(sha256sum text | cut -d ' ' -f 1)
mv text "$(field ir_dir)/$sha"
event '"kind":"compile","side":"'$side'","id":"k","kernel":"k","variant":"v","stages":{"text":"'$sha'"}'
event '"kind":"launch","side":"'$side'",'$case',"compiled":[{"id":"k","launches":1}]'
event '"kind":"outputs","side":"'$side'",'$case',"digest":"d","repeatable":true'
case $purpose in
    r*)
        wait_for_readings 1
        event '"kind":"note","topic":"measures","detail":""'
        wait_for_readings 4
        event '"kind":"row","ok":true,"timer":"direct","samples_us":[[10,10,10]],"operator":"'$operator'","side":"'$side'",'$case
        ;;
    *) event '"kind":"row","ok":true,"operator":"'$operator'","side":"'$side'",'$case ;;
esac
event '"kind":"end","status":0,"rows":1'
