package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.ListOf;
import dev.berth.config.keys.Section;
import java.util.ArrayList;
import java.util.List;

/** {@code docs/configuration.md}, made from the keys. */
final class Reference {

  private static final String INTRODUCTION =
      """
      # Configuration

      Berth reads one file, YAML or JSON, in Ray Serve's field names. What has no name in Ray Serve
      stands under `berth`. `berth validate FILE` checks a file and starts nothing; `berth run FILE`
      checks it the same way first.

      - Every problem is reported at once: `file:line:column: key: value (expected: …)`. The exit code
        is then 2, and nothing starts.
      - An unknown key is a problem, at every level; so is a key given twice, a number in quotes, and a
        number out of its range.
      - Every key of Ray Serve's file is known. One that can have no meaning in a JVM is checked, and
        named in a warning when it is set; the file stays valid, and the exit code is 0. One that would
        mislead if it were ignored is refused, with the reason; the tables name those below them.
      - Times are numbers of the unit in the key's name: `_s` takes fractions and is at most a year,
        `_ms` is whole. Sizes are plain integers of bytes.
      - `null` means unset, and is allowed where the table says so.
      - Relative paths start from the folder of the file.
      - `--set KEY=VALUE`, of both commands, sets one key over the file, as often as it is given:
        `--set http_options.port=8001`, `--set applications.echo.deployments.echo.num_replicas=4`. An
        entry of a list goes by its name or its index, `applications[0]`; a deployment that the file does
        not name gets an entry. The value is YAML. Its problems name `--set` in place of the line.
      - Some keys name variables of the environment. `berth run` takes them over the file, in seconds,
        the first that is set; its command line wins over them.
      - What the file says of a deployment wins over what its code says, which wins over the default.

      `docs/berth.schema.json`, which `berth schema` prints, says the same to editors. In YAML, a first
      line `# yaml-language-server: $schema=berth.schema.json` names it.

      The tables below are made from the definitions in `dev.berth.config`; a test keeps them equal.
      """;

  /**
   * @param path of the key's mapping; empty at the top
   * @param key the key
   */
  record Row(String path, Key<?> key) {}

  private Reference() {}

  static String render() {
    return INTRODUCTION + render(ServeConfig.SECTION);
  }

  /** The tables of a file. */
  static String render(Section file) {
    StringBuilder page = new StringBuilder();
    section(file, "", "The file", page);
    return page.toString();
  }

  /** Every key of {@code section} and below. */
  static void collect(Section section, String path, List<Row> into) {
    for (Key<?> key : section.keys()) {
      into.add(new Row(path, key));
    }
    for (Row inner : mappings(section, path)) {
      collect(mapping(inner.key()), inner.path(), into);
    }
  }

  private static void section(Section section, String path, String title, StringBuilder page) {
    page.append("\n## ").append(title).append("\n\n");
    page.append("| key | default | unit | allowed | meaning |\n|---|---|---|---|---|\n");
    for (Key<?> key : section.keys()) {
      boolean linked = mapping(key) != null;
      String allowed = key.type().expected() + (key.nullable() ? ", or null" : "");
      page.append("| `").append(key.name()).append("` | ");
      boolean plain = key.required() || key.fallbackText().isEmpty();
      page.append(plain ? key.fallbackText() : "`" + key.fallbackText() + "`");
      page.append(" | ").append(key.type().unit());
      page.append(" | ").append(allowed.replace("|", "\\|"));
      page.append(" | ").append(key.meaning());
      if (!key.variables().isEmpty()) {
        page.append(" Environment: `").append(String.join("`, `", key.variables())).append("`.");
      }
      page.append(linked ? " See below." : "").append(" |\n");
    }
    if (!section.refused().isEmpty()) {
      page.append("\nRefused:\n\n");
      section
          .refused()
          .forEach(
              (name, why) ->
                  page.append("- `").append(name).append("`: ").append(why).append(".\n"));
    }
    for (Row inner : mappings(section, path)) {
      section(mapping(inner.key()), inner.path(), "`" + inner.path() + "`", page);
    }
  }

  /** The keys of {@code section} that are mappings, or lists of them, each with its own path. */
  private static List<Row> mappings(Section section, String path) {
    List<Row> rows = new ArrayList<>();
    for (Key<?> key : section.keys()) {
      if (mapping(key) != null) {
        String list = key.type() instanceof Section ? "" : "[]";
        rows.add(new Row((path.isEmpty() ? "" : path + ".") + key.name() + list, key));
      }
    }
    return rows;
  }

  /** What stands behind a key that is a mapping, or a list of them; else null. */
  static Section mapping(Key<?> key) {
    if (key.type() instanceof Section section) {
      return section;
    }
    return key.type() instanceof ListOf<?> list && list.item() instanceof Section section
        ? section
        : null;
  }
}
