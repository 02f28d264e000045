"""The tables: Markdown to paste, and JSON with every value."""

import rows as rows_module

_NONE = ""


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def number(value):
    """Three digits that count; thousands are grouped."""
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def shown(values):
    """The median, and how far the values lie apart: "98.1 ± 4 %"."""
    if not values:
        return _NONE
    middle = median(values)
    if len(values) == 1:
        return number(middle)
    return f"{number(middle)} ± {50 * (max(values) - min(values)) / middle:.0f} %"


def plain(values, scale=1):
    return number(median(values) * scale) if values else _NONE


def ratio(ours, theirs):
    """The median of the rounds' ratios: of what was measured side by side."""
    pairs = [a / b for a, b in zip(ours, theirs) if a and b]
    return median(pairs) if pairs else None


def ratio_text(value, floor=None):
    if value is None:
        return _NONE
    text = f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return text if floor is None else f"{text} (≥ {floor:g}{'' if value >= floor else ' missed'})"


def table(header, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *lines])


def _title(row):
    return f"{row.model.title}, {row.precision}"


def speed_table(rows, results):
    header = ["model, precision", "what", "Phyllo", "through the gateway", "of the bound", "llama.cpp", "ratio", "transformers", "ratio"]
    lines = []
    for row in rows:
        if row.kind in ("serving", "start"):
            continue
        in_process, gateway = results.get(row, "phyllo", "in process"), results.get(row, "phyllo", "gateway")
        llama_cpp, hf = results.get(row, "llama.cpp", "rate"), results.get(row, "transformers", "rate")
        of_bound = ratio(in_process, results.get(row, "phyllo", "bound"))
        peer = shown(llama_cpp)
        tuned = results.get(row, "llama.cpp", "tuned rate")
        if tuned:
            peer += f", tuned {plain(tuned)}"
        lines.append([_title(row), row.what, shown(in_process), shown(gateway), _NONE if of_bound is None else f"{100 * of_bound:.0f} %",
                      f"{peer} ({rows_module.GGUF_TYPES[row.precision]})" if peer else _NONE,
                      ratio_text(ratio(gateway, llama_cpp), row.floor), shown(hf), ratio_text(ratio(gateway, hf), row.hf_floor)])
    return table(header, lines) if lines else None


def serving_table(rows, results):
    header = ["model, precision", "streams", "Phyllo, new tokens/s", "llama-server", "ratio", "first token p50 / p99, ms", "llama-server",
              "between tokens p50 / p99, ms", "llama-server"]
    lines = []
    for row in rows:
        if row.kind != "serving":
            continue
        cells = [_title(row), str(row.streams), shown(results.get(row, "phyllo", "rate")), shown(results.get(row, "llama.cpp", "rate")),
                 ratio_text(ratio(results.get(row, "phyllo", "rate"), results.get(row, "llama.cpp", "rate")))]
        for latency in ("time_to_first_token_ms", "inter_token_latency_ms"):
            for program in ("phyllo", "llama.cpp"):
                values = [plain(results.get(row, program, f"{latency} {percentile}")) for percentile in ("p50", "p99")]
                cells.append(" / ".join(values) if all(values) else _NONE)
        lines.append(cells)
    return table(header, lines) if lines else None


def start_table(rows, results):
    header = ["model, precision", "Phyllo ready after, s: first start / later ones", "llama-server, likewise", "Phyllo, MB resident / proportional / peak",
              "llama-server"]
    lines = []
    for row in rows:
        if row.kind != "start":
            continue
        cells = [_title(row)]
        for program in ("phyllo", "llama.cpp"):
            seconds = results.get(row, program, "start")
            cells.append(f"{number(seconds[0])} / {plain(seconds[1:]) or '–'}" if seconds else _NONE)
        for program in ("phyllo", "llama.cpp"):
            values = [plain(results.get(row, program, measure), 1e-6) for measure in ("resident", "proportional", "peak resident")]
            cells.append(" / ".join(values) if all(values) else _NONE)
        lines.append(cells)
    return table(header, lines) if lines else None


def markdown(rows, results, machine, settings):
    """All tables with what must be known to read them."""
    versions = ", ".join(f"{name} {version}" for name, version in settings["versions"].items())
    parts = [
        f"Measured on {machine['began']} in {machine['minutes']:.0f} minutes: {machine['cpu_count']} CPUs of {machine['cpu']}, Linux "
        f"{machine['kernel']}, transparent huge pages {machine['transparent_huge_pages']}; {settings['threads']} threads each, "
        f"{settings['rounds']} rounds, random weights; {versions}. Load average between measurements "
        f"{min(machine['load_averages']):.1f} to {max(machine['load_averages']):.1f}, {machine['steal_percent']:.1f} % of the time stolen by "
        "the host. Values are medians and half the spread; ratios are medians of the rounds' ratios, of Phyllo through its gateway."
    ]
    if settings["quick"]:
        parts.append("**A quick run: it shows that everything works, the figures say little.**")
    for title, made in (("Tokens per second", speed_table(rows, results)),
                        ("Under load (prompts of 128 tokens, greedy, closed loop)", serving_table(rows, results)),
                        ("Start and memory", start_table(rows, results))):
        if made:
            parts.append(f"**{title}**\n\n{made}")
    if results.errors:
        parts.append("Failed:\n\n" + "\n".join("- " + error.replace("\n", " / ") for error in results.errors))
    return "\n\n".join(parts) + "\n"


def to_json(rows, results, machine, settings):
    return {
        "machine": machine,
        "settings": settings,
        "errors": results.errors,
        "rows": [{"name": row.name, "floor": row.floor, "transformers_floor": row.hf_floor,
                  "values": {f"{program} {measure}": values for (name, program, measure), values in results.values.items()
                             if name == row.name}} for row in rows],
    }
