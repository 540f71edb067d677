#!/bin/sh
# Keeps each week's new runs for training:
#
#     sh weekly.sh choose   # writes week.html: judge it, and save its labels here, as labels.csv
#     sh weekly.sh keep     # adds the messages of what was judged to be kept to kept.jsonl
#
# chats/ has the logs, outcomes.csv the outcomes by the ids of their sessions: the columns id and label (1, 0 or nothing).
set -e
case "$1" in
choose)
	set -- --labels outcomes.csv
	# What was dropped does not come back.
	if [ -e judged.csv ]; then set -- "$@" --labels judged.csv; fi
	kp-score select chats --since 7d --count 20 --success "$@" --memory kept.kpcache --html week.html
	;;
keep)
	# Only what was judged has an outcome here. Written runs are remembered: the next weeks add what they do not cover.
	kp-score select chats --count 20 --success --labels labels.csv --memory kept.kpcache \
		--as messages -o week.jsonl
	cat week.jsonl >> kept.jsonl
	if [ ! -e judged.csv ]; then echo id,label > judged.csv; fi
	tail -n +2 labels.csv >> judged.csv
	rm labels.csv
	;;
esac
