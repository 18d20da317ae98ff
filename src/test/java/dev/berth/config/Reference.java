package dev.berth.config;

import dev.berth.config.builtin.OpenAiOptions;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ListType;
import dev.berth.config.keys.Section;
import java.util.ArrayList;
import java.util.List;

/** {@code docs/configuration.md}, made from the keys. */
final class Reference {

  private static final String INTRODUCTION =
      """
      # Configuration

      Berth reads one file, YAML or JSON, with the field names of Ray Serve. Keys without a name in Ray
      Serve are under `berth`. `berth validate FILE` checks a file and starts nothing; `berth run FILE`
      first checks it in the same way.

      - All problems are reported together: `file:line:column: key: value (expected: …)`. The exit code
        is then 2, and nothing starts.
      - Unknown keys are problems, at every level. So are keys given twice, numbers in quotes, and numbers
        out of range.
      - Every key of Ray Serve's file is known. A key without a meaning in a JVM is checked, and a warning
        names it if it is set; the file stays valid, and the exit code is 0. A key that would mislead if
        it were ignored is refused with the reason; see the list below its table.
      - Times are numbers of the unit in the key's name: `_s` accepts fractions and is at most a year,
        `_ms` is whole. Sizes are plain integers of bytes.
      - `null` means unset, and is allowed where the table lists it.
      - Relative paths are resolved against the folder of the file.
      - `--set KEY=VALUE`, of both commands, sets one key over the file and is repeatable:
        `--set http_options.port=8001`, `--set applications.echo.deployments.echo.num_replicas=4`. List
        entries are addressed by name or index, `applications[0]`; a deployment without an entry in the
        file gets one. The value is YAML. Problems of it name `--set` in place of the line.
      - Some keys name environment variables. `berth run` reads them over the file, in seconds, and uses
        the first that is set; the command line overrides them.
      - For a deployment, the file overrides the code, and the code overrides the default.

      `docs/berth.schema.json`, printed by `berth schema`, has the same rules for editors. In YAML, a
      first line `# yaml-language-server: $schema=berth.schema.json` refers to it.

      The tables below are generated from the definitions in `dev.berth.config`; a test compares them.
      """;

  /**
   * @param path of the key's mapping; empty at the top
   * @param key the key
   */
  record Row(String path, ConfigKey<?> key) {}

  private Reference() {}

  static String render() {
    StringBuilder args = new StringBuilder();
    String path = "applications[].args";
    section(OpenAiOptions.SECTION, path, "`" + path + "` of `berth:openai`", args);
    return INTRODUCTION + render(ServeConfig.SECTION) + args;
  }

  /** The tables of a file. */
  static String render(Section file) {
    StringBuilder page = new StringBuilder();
    section(file, "", "The file", page);
    return page.toString();
  }

  /** Every key of {@code section} and below. */
  static void collect(Section section, String path, List<Row> into) {
    for (ConfigKey<?> key : section.keys()) {
      into.add(new Row(path, key));
    }
    for (Row inner : mappings(section, path)) {
      collect(mapping(inner.key()), inner.path(), into);
    }
  }

  private static void section(Section section, String path, String title, StringBuilder page) {
    page.append("\n## ").append(title).append("\n\n");
    page.append("| key | default | unit | allowed | meaning |\n|---|---|---|---|---|\n");
    for (ConfigKey<?> key : section.keys()) {
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
    if (!section.refusals().isEmpty()) {
      page.append("\nRefused:\n\n");
      section
          .refusals()
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
    for (ConfigKey<?> key : section.keys()) {
      if (mapping(key) != null) {
        String list = key.type() instanceof Section ? "" : "[]";
        rows.add(new Row((path.isEmpty() ? "" : path + ".") + key.name() + list, key));
      }
    }
    return rows;
  }

  /** What stands behind a key that is a mapping, or a list of them; else null. */
  static Section mapping(ConfigKey<?> key) {
    if (key.type() instanceof Section section) {
      return section;
    }
    return key.type() instanceof ListType<?> list && list.item() instanceof Section section
        ? section
        : null;
  }
}
