#!/bin/sh
# A benchmark that speaks the cell protocol (docs/cell-protocol.md), with latencies and code that are known beforehand.
#
# speaker.sh NOTES OPERATOR. NOTES is a folder: `cells` gets a line a cell, `environment` the variables of the last one,
# `environment PURPOSE` those of the last one with that purpose.
# A file `hold OPERATOR PURPOSE` in it makes that cell stop once, after its first row; `holding` then has the process, its
# supervisor and a process that it leaves behind. `deaf OPERATOR PURPOSE` does the same and ignores TERM; `early OPERATOR PURPOSE`
# does it before the cell has told anything. `outputs OPERATOR PURPOSE` has what its outputs tell instead of equal digests.
#
# Operators: `slow` takes 10 us, and 8 us where MY_PASS is 1; `steady` has other code and the same times; `same` never changes;
# `shaky` has the same code in `text` and another in `noise` each time it is compiled; `plain` launches no kernel; `broken` ends
# with 3; `brittle` is `slow` and fails on its first input where MY_PASS is 1; `refusing` fails on every input; `sour` is `slow`
# and ends with 3 after its rows; `waiting` is `slow`, and its time is the host's.
set -eu
export LC_ALL=C
if [ -n "${SWITCHBACK_LIST:-}" ]; then
    printf '[%s]\n' '{"operator":"slow","detail":"2 cases"},{"operator":"steady"},{"operator":"same"},{"operator":"shaky"},{"operator":"plain"},{"operator":"broken","dtypes":["f64"]},{"operator":"brittle"},{"operator":"refusing"},{"operator":"sour"},{"operator":"waiting"}'
    exit 0
fi
notes=$1
operator=$2
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$SWITCHBACK_RUN_DIR/order.json" | head -n 1; }
event() { printf '%s\n' "$1" >> "$SWITCHBACK_RUN_DIR/events.jsonl"; }
purpose=$(field purpose)
side=${purpose##*_}
[ "$side" = B ] || side=A
echo "$operator $purpose" >> "$notes/cells"
env > "$notes/environment"
env > "$notes/environment $purpose"
hold() {
    # What a benchmark may leave behind: a process of a session of its own.
    setsid sleep 300 > /dev/null 2>&1 &
    left=$!
    # Cells of several cards may hold at once: each waits until the one before it was taken note of.
    echo "$$ $PPID $left" > "$notes/holding.$$"
    until ln "$notes/holding.$$" "$notes/holding" 2> /dev/null; do sleep 0.02; done
    rm "$notes/holding.$$"
    exec sleep 300
}
if [ -e "$notes/early $operator $purpose" ]; then
    rm "$notes/early $operator $purpose"
    hold
fi
event '{"kind":"start","t_s":1,"pid":'$$',"conditions":{"compiler":"speaker 1"}}'
# A card that fails all its cells, or an operator that fails on all cards: `fault 1`, `fault slow` hold their last words.
for fault in "$notes/fault ${CUDA_VISIBLE_DEVICES:-none}" "$notes/fault $operator"; do
    [ -e "$fault" ] || continue
    cat "$fault" >&2
    exit 1
done
if [ "$operator" = broken ]; then
    echo "the benchmark of $operator is out of order" >&2
    exit 3
fi

pass=${MY_PASS:-unset}
case $operator in
    slow | brittle | sour | waiting) code=$pass; [ "$pass" = 1 ] && latency=8 || latency=10 ;;
    steady) code=$pass; latency=20 ;;
    *) code=always; latency=30 ;;
esac
if [ "$operator" != plain ]; then
    text="$operator compiled with $code"
    sha=$(printf '%s' "$text" | sha256sum | cut -d ' ' -f 1)
    ir=$(field ir_dir)
    printf '%s' "$text" > "$ir/$$.new"
    mv "$ir/$$.new" "$ir/$sha"
    stages='"text":"'$sha'"'
    if [ "$operator" = shaky ]; then
        noise=$(printf '%s' "$purpose" | sha256sum | cut -d ' ' -f 1)
        printf '%s' "$purpose" > "$ir/$noise"
        stages=$stages',"noise":"'$noise'"'
    fi
    event '{"kind":"compile","t_s":2,"side":"'$side'","id":"k","kernel":"'$operator'_kernel","variant":"v","stages":{'$stages'}}'
fi
# Rounds differ a little, and both sides of one round alike: 0.1 % a round.
round=$(printf '%s' "$purpose" | sed -n 's/^r\([0-9]*\)_.*/\1/p')
for input in 8 16; do
    row='"operator":"'$operator'","side":"'$side'","case":{"dtype":"f32","input":"['$input']","occurrence":0}'
    if [ "$operator" != plain ]; then
        event '{"kind":"launch","t_s":3,"side":"'$side'","case":{"dtype":"f32","input":"['$input']","occurrence":0},"compiled":[{"id":"k","launches":1}]}'
    fi
    told='"digest":"d'$input'"'
    [ ! -e "$notes/outputs $operator $purpose" ] || told=$(cat "$notes/outputs $operator $purpose")
    event '{"kind":"outputs","t_s":3,"side":"'$side'","case":{"dtype":"f32","input":"['$input']","occurrence":0},'"$told"',"repeatable":true}'
    # A row that failed is one in every cell, timed or not.
    case $operator$pass.$input in
        brittle1.8 | refusing*)
            event '{"kind":"row","t_s":4,"ok":false,"error":"'"input $input is refused"'",'$row'}'
            continue
            ;;
        waiting*) row=$row',"host_bound":true' ;;
    esac
    case $purpose in
        screen_* | again_*) event '{"kind":"row","t_s":4,"ok":true,'$row'}' ;;
        *)
            sample=$(awk -v latency="$latency" -v input="$input" -v round="${round:-0}" -v side="$side" \
                'BEGIN { printf "%.6f", latency * input / 8 * (1 + round / 1000 + (side == "B") * round % 2 / 5000) }')
            event '{"kind":"row","t_s":4,"ok":true,"timer":"direct","samples_us":[['$sample,$sample,$sample']],'$row'}'
            ;;
    esac
    for kind in hold deaf; do
        [ -e "$notes/$kind $operator $purpose" ] || continue
        rm "$notes/$kind $operator $purpose"
        [ $kind = hold ] || trap '' TERM
        hold
    done
done
[ "$operator" = sour ] && status=3 || status=0
event '{"kind":"end","t_s":5,"status":'$status',"rows":2}'
exit $status
