/*
 * Copyright (c) 2026 The openssh-bdp authors
 *
 * Permission to use, copy, modify, and distribute this software for any
 * purpose with or without fee is hereby granted, provided that the above
 * copyright notice and this permission notice appear in all copies.
 *
 * THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
 * WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
 * MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
 * ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
 * WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
 * ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
 * OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
 */

#define _GNU_SOURCE	/* reallocarray */
#include <sys/types.h>

#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conns.h"
#include "table.h"

#define CELL_MAX	64	/* bytes: the peer's is the longest */

struct table {
	struct conn_row *rows;
	size_t n;
};

static void
peer(const struct conn_row *row, char *cell)
{
	snprintf(cell, CELL_MAX, "%s", row->remote);
}

static void
pid(const struct conn_row *row, char *cell)
{
	snprintf(cell, CELL_MAX, "%d", (int)row->pid);
}

static void
way(const struct conn_row *row, char *cell)
{
	snprintf(cell, CELL_MAX, "%s", row->in.sends ? "send" : "recv");
}

static void
rate(const struct conn_row *row, char *cell)
{
	snprintf(cell, CELL_MAX, "%.1f", row->rate / 1e6);
}

static void
rtt(const struct conn_row *row, char *cell)
{
	snprintf(cell, CELL_MAX, row->in.rtt_us < 999950 ? "%.1f" : "%.0f",
	    row->in.rtt_us / 1e3);
}

/* Bytes, in at most five characters */
static void
size(uint64_t bytes, char *cell)
{
	static const char units[] = "KMGTPE";
	const char *unit = units;
	double n = bytes / 1024.0;

	for (; n >= 999.5; unit++)
		n /= 1024;
	snprintf(cell, CELL_MAX, n < 99.95 && unit != units ? "%.1f%c" :
	    "%.0f%c", n, *unit);
}

static void
cwnd(const struct conn_row *row, char *cell)
{
	size(row->cwnd, cell);
}

static void
rwnd(const struct conn_row *row, char *cell)
{
	size(row->in.sends ? row->in.snd_wnd : row->in.rcv_wnd, cell);
}

static void
retransmits(const struct conn_row *row, char *cell)
{
	snprintf(cell, CELL_MAX, "%llu", (unsigned long long)row->retransmits);
}

static void
window(const struct conn_row *row, char *cell)
{
	if (row->in.window == 0)
		snprintf(cell, CELL_MAX, "-");
	else
		size(row->in.window, cell);
}

static void
cpu(const struct conn_row *row, char *cell)
{
	snprintf(cell, CELL_MAX, "%llu", row->in.interval_us == 0 ? 0ULL :
	    (unsigned long long)(row->in.cpu_us * 100 / row->in.interval_us));
}

static void
limit(const struct conn_row *row, char *cell)
{
	int lost = row->verdict == VERDICT_CONGESTION &&
	    (row->retransmits != 0 || row->in.late != 0);

	snprintf(cell, CELL_MAX, "%s%s", verdict_text(row->verdict),
	    lost ? " with loss" : "");
}

/* Where there is no room for all, the ones with the least rank stay. */
static const struct column {
	const char *head;
	int width;		/* least; negative: to the left */
	int rank;
	void (*say)(const struct conn_row *, char *);
} columns[] = {
	{ "PEER", -21, 0, peer },
	{ "PID", 7, 8, pid },
	{ "", -4, 3, way },
	{ "MB/s", 6, 1, rate },
	{ "RTTms", 5, 2, rtt },
	{ "CWND", 5, 5, cwnd },
	{ "RWND", 5, 6, rwnd },
	{ "RETR", 4, 7, retransmits },
	{ "CHAN", 5, 4, window },
	{ "CPU%", 4, 9, cpu },
	{ "LIMITED BY", -21, 0, limit }
};
#define COLUMNS		(sizeof(columns) / sizeof(*columns))
#define RANKS		10

struct table *
table_new(void)
{
	struct table *t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		err(1, NULL);
	return t;
}

void
table_add(const struct conn_row *row, void *ctx)
{
	struct table *t = ctx;

	t->rows = reallocarray(t->rows, t->n + 1, sizeof(*t->rows));
	if (t->rows == NULL)
		err(1, NULL);
	t->rows[t->n++] = *row;
}

static int
by_rate(const void *a, const void *b)
{
	const struct conn_row *x = a, *y = b;

	return x->rate > y->rate ? -1 : x->rate < y->rate;
}

/* Sets widths to the widest of each column in n rows. */
static void
measure(const struct table *t, size_t n, int *widths)
{
	char cell[CELL_MAX];
	size_t c, i;
	int len;

	for (c = 0; c < COLUMNS; c++) {
		widths[c] = abs(columns[c].width);
		for (i = 0; i < n; i++) {
			columns[c].say(&t->rows[i], cell);
			if ((len = strlen(cell)) > widths[c])
				widths[c] = len;
		}
	}
}

/* The first rank that has no room: peers may be cut to the least width. */
static int
fits(const int *widths, unsigned int width)
{
	unsigned int sum;
	int rank;
	size_t c;

	for (rank = RANKS; rank > 1 && width != 0; rank--) {
		for (sum = 0, c = 0; c < COLUMNS; c++)
			if (columns[c].rank < rank)
				sum += 1 + (c == 0 ? abs(columns[c].width) :
				    widths[c]);
		if (sum <= width + 1)
			break;
	}
	return rank;
}

/* Cells of a row, or with none the heads of columns: no wider than width */
static void
print_line(const struct conn_row *row, const int *widths, int rank,
    unsigned int width)
{
	char cell[CELL_MAX], line[COLUMNS * CELL_MAX];
	size_t c;
	int len = 0;

	for (c = 0; c < COLUMNS; c++) {
		if (columns[c].rank >= rank)
			continue;
		if (row == NULL)
			snprintf(cell, sizeof(cell), "%s", columns[c].head);
		else
			columns[c].say(row, cell);
		if ((int)strlen(cell) > widths[c])
			snprintf(cell + widths[c] - 1, 2, "+");
		len += snprintf(line + len, sizeof(line) - len, "%s%*s",
		    len == 0 ? "" : " ", columns[c].width < 0 ? -widths[c] :
		    widths[c], cell);
	}
	if (width != 0 && len > (int)width)
		len = width;
	while (len > 0 && line[len - 1] == ' ')
		len--;
	printf("%.*s\n", len, line);
}

void
table_print(struct table *t, unsigned int width, unsigned int height)
{
	int widths[COLUMNS], rank, others = 0;
	size_t c, i, n = t->n;

	if (t->n > 1)
		qsort(t->rows, t->n, sizeof(*t->rows), by_rate);
	/* The head and, at the end, a line for the cursor */
	if (height != 0 && n + 2 > height)
		n = height > 3 ? height - 3 : 0;
	measure(t, n, widths);
	rank = fits(widths, width);
	for (c = 1; c < COLUMNS; c++)
		if (columns[c].rank < rank)
			others += 1 + widths[c];
	if (width != 0 && widths[0] + others > (int)width &&
	    (widths[0] = (int)width - others) < -columns[0].width)
		widths[0] = -columns[0].width;
	print_line(NULL, widths, rank, width);
	for (i = 0; i < n; i++)
		print_line(&t->rows[i], widths, rank, width);
	if (n < t->n)
		printf("%zu more\n", t->n - n);
	free(t->rows);
	free(t);
}
