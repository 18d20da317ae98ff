package dev.berth.architecture;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Counts the prose rules of CONTRIBUTING in Java sources and in Markdown pages. The file needs no
 * other class, so that it measures any repository:
 *
 * <pre>
 * java src/test/java/dev/berth/architecture/PlainWords.java DIR…           Java sources below DIR
 * java src/test/java/dev/berth/architecture/PlainWords.java --md FILE…     Markdown pages
 * </pre>
 */
final class PlainWords {
  /** Literals, which may hold the marks of a comment, and comments. */
  static final Pattern LITERALS_AND_COMMENTS =
      Pattern.compile(
          "\"\"\"(?s:.*?)(?<!\\\\)\"\"\"|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'"
              + "|//[^\n]*|/\\*(?s:.*?)\\*/");

  /** Part of a source or page that a rule reads. */
  enum Part {
    /** First words of a documentation comment. */
    FIRST_WORDS("documentation comment", 100),
    /** Whole comment of any kind. */
    COMMENT("comment", 100),
    /** String literal of four words or more: log lines, help, errors, descriptions. */
    LITERAL("text", 100),
    /** Simple name of a type, nested types included. */
    TYPE("type", 100),
    /** Name of a declared method. */
    METHOD("method", 1000),
    /** Identifier in capitals. */
    CONSTANT("constant", 100),
    /** Words of a Markdown page without its code. */
    PAGE("words of a page", 1000);

    final String text;
    final int per;

    Part(String text, int per) {
      this.text = text;
      this.per = per;
    }
  }

  /**
   * @param level the most that is allowed, per 100 of its part; per 1 000 of methods and words
   * @param instead what the author writes instead
   */
  record Rule(String id, Part part, Pattern pattern, double level, String instead) {}

  /** Place that breaks a rule. */
  record Violation(String scope, Rule rule, String place, String text) {
    String message() {
      return "%s: %s: %s (expected: %s)".formatted(place, rule.id(), text, rule.instead());
    }
  }

  private static final String TELL = "send, receive, publish, notify, record, report or return";
  private static final String ACTOR = "the actor's name: router, replica, node, client, caller";
  private static final String NOUN = "a noun phrase or a third-person verb, as in \"Returns …\"";

  static final List<Rule> RULES =
      List.of(
          first("D1", "Who|Whose|Whom|Whoever|What|Whatever|Which|Where|Wherever|How|Why|When", .4),
          first(
              "D2",
              "It|Its|One|That|This|Those|They|Their|He|His|So|Such|Nobody|Nothing|Somebody"
                  + "|Everything|Each|None|Neither",
              1.7),
          first(
              "D3",
              "Of|For|With|Without|Until|Behind|Beyond|By|In|On|At|To|From|As|Between|Among|Before"
                  + "|After",
              1.9),
          first("D4", "Whether", 2.6),
          comment("T1", "\\b(who|whom|whoever|somebody|nobody|everybody|anybody)\\b", .2, ACTOR),
          comment(
              "T2",
              "(^|[.;:]\\s+)([Ww]hat|[Ww]ho|[Ww]hoever|[Ww]hatever|[Oo]ne that|[Tt]hose that)\\s+\\w+",
              .1,
              "the noun in place of the clause"),
          comment(
              "T3",
              "\\b(is|are|was|were|be|been|being)\\s+(not\\s+|then\\s+)?"
                  + "(told|said|asked|heard|given back|made anew)\\b",
              0,
              TELL),
          comment("T4", "\\b(tells?|told|says?|said|hears?|heard)\\b", .3, TELL),
          comment("T5", "\\b(of|by|to|in|for|on) (which|whom|what)\\b", .8, "two sentences"),
          comment(
              "T6",
              "\\b(is|are|was|were|be)\\s+(gone|taken|kept|cut|over|anew)\\b",
              .3,
              "removed, dead, lost, closed, acquired, retained, complete: the exact word"),
          comment("T7", "\\banew\\b", 0, "again, recreate, restart or retry"),
          comment(
              "T8",
              "\\b(under way|stands? still|stood still|so many|so much|so long|as many as)\\b",
              .1,
              "in flight, stalled, or the number"),
          comment(
              "T9",
              "\\b(be it|but for|but that|lest|none any more|no more\\b(?! than))",
              .3,
              "today's connective: either, except, so that, no longer"),
          new Rule(
              "L1",
              Part.LITERAL,
              Pattern.compile(
                  "\\b(who|whom|whoever|somebody|nobody|everybody|anybody|tells?|told|says?|said"
                      + "|hears?|heard|anew)\\b|(^|[.;:]\\s+)([Ww]hat|[Ww]hoever|[Ww]hatever"
                      + "|[Oo]ne that|[Tt]hose that)\\s+\\w+"),
              0,
              "the actor's name, the noun, and " + TELL),
          new Rule(
              "I1",
              Part.TYPE,
              Pattern.compile("^[A-Z][a-z0-9]*$"),
              15,
              "a name of two words, or a well-known one"),
          new Rule(
              "I2",
              Part.METHOD,
              Pattern.compile(
                  "^(told|gone|taken|ended|said|heard|kept|asked|given|lost|left|held|known|begun"
                      + "|noted|came|went|answered|refused|granted|dropped|failed|stopped|started"
                      + "|made|found|met|cut|joined|opened|closed|freed|settled|recovered|reported"
                      + "|changed|wanted)$"),
              7,
              "on… for an event, is… for a state, a noun or a verb otherwise"),
          new Rule(
              "I3",
              Part.CONSTANT,
              Pattern.compile(
                  "^(?!LEAST_REQUESTS$|LEAST_LATENCY$)(MOST|LEAST|LONGEST|SHORTEST|PATIENCE)"
                      + "(_[A-Z0-9_]*)?$"),
              0,
              "MAX_…, MIN_…, …_TIMEOUT_… with the unit last"),
          page(
              "M1",
              "(?:^|[.;:|]\\s+|^[-*]\\s+(?:\\*\\*)?)(?:Who|What|Whoever|Whatever|Whose"
                  + "|One that|Those that)\\b",
              .2,
              "the noun as the subject"),
          page("M2", "\\b(?:who|whoever|whom|nobody|somebody)\\b", .1, ACTOR),
          page(
              "M3",
              "\\b(?:what|whatever)\\s+(?:is|it|was|has|a|the|they|one|\\w+s)\\b",
              .4,
              "the noun in place of the clause"),
          page("M4", "\\b(?:tells?|told|says?|said|hears?|heard|asks?|asked)\\b", .5, TELL),
          page(
              "M5",
              "\\b(?:is|are|was|were|be|been)\\s+"
                  + "(?:told|said|asked|heard|kept|gone|taken|cut|made anew)\\b",
              .1,
              "the exact verb"),
          page("M6", "\\b(?:of|by|to|in|for|on) (?:which|whom|what)\\b", .6, "two sentences"));

  private static final Pattern TYPE =
      Pattern.compile("\\b(?:class|interface|record|enum)\\s+([A-Z]\\w*)");
  private static final Pattern METHOD =
      Pattern.compile(
          "(?m)^ +(?:(?:public|private|protected|static|final|synchronized|default|abstract) )*"
              + "(?!return |new |throw |else |case )[\\w<>?,.@\\[\\] ]+ ([a-z]\\w*) *\\([^;]*?(?:\\{|;|$)");
  private static final Pattern CONSTANT = Pattern.compile("\\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\\b");
  private static final Pattern TAGS =
      Pattern.compile("@(?:param|return|throws|see|since|author|deprecated)\\b.*");

  /** Parts that were read, by scope; the base of each rule's share. */
  private final SortedMap<String, Map<Part, Integer>> parts = new TreeMap<>();

  private final List<Violation> violations = new ArrayList<>();

  /** Simple names of all types and the places that declare them. */
  private final SortedMap<String, List<String>> types = new TreeMap<>();

  private PlainWords() {}

  private static Rule first(String id, String words, double level) {
    return new Rule(
        id, Part.FIRST_WORDS, Pattern.compile("^(" + words + ")\\b"), level, "begin with " + NOUN);
  }

  private static Rule comment(String id, String pattern, double level, String instead) {
    return new Rule(id, Part.COMMENT, Pattern.compile(pattern), level, instead);
  }

  private static Rule page(String id, String pattern, double level, String instead) {
    return new Rule(id, Part.PAGE, Pattern.compile(pattern, Pattern.MULTILINE), level, instead);
  }

  /** Reads the Java files below a folder; the scope of each is its package. */
  static PlainWords ofSources(List<Path> roots) throws IOException {
    PlainWords words = new PlainWords();
    for (Path root : roots) {
      for (Path file : files(root)) {
        words.readSource(file, Files.readString(file));
      }
    }
    return words;
  }

  /** Reads Markdown pages; the scope of each is its path. */
  static PlainWords ofPages(List<Path> pages) throws IOException {
    PlainWords words = new PlainWords();
    for (Path page : pages) {
      words.readPage(page.toString(), Files.readString(page));
    }
    return words;
  }

  /** Reads texts that users meet one by one: descriptions of a schema or of metrics. */
  static PlainWords ofTexts(String scope, List<String> texts) {
    PlainWords words = new PlainWords();
    texts.forEach(text -> words.apply(scope, Part.LITERAL, scope, text));
    return words;
  }

  /** Returns the names of all methods below a folder. */
  static List<String> methods(Path root) throws IOException {
    List<String> names = new ArrayList<>();
    for (Path file : files(root)) {
      String code = LITERALS_AND_COMMENTS.matcher(Files.readString(file)).replaceAll("\"\"");
      METHOD.matcher(code).results().forEach(method -> names.add(method.group(1)));
    }
    return names;
  }

  private static List<Path> files(Path root) throws IOException {
    try (Stream<Path> found = Files.walk(root)) {
      return found
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> !file.endsWith("package-info.java"))
          .sorted()
          .toList();
    }
  }

  List<Violation> violations() {
    return violations;
  }

  SortedMap<String, List<String>> types() {
    return types;
  }

  /** Returns how many parts of a kind a scope has. */
  int count(String scope, Part part) {
    return parts.getOrDefault(scope, Map.of()).getOrDefault(part, 0);
  }

  /** Returns the violations of each scope and rule, by {@code SCOPE/RULE}. */
  SortedMap<String, List<Violation>> byScopeAndRule() {
    SortedMap<String, List<Violation>> all = new TreeMap<>();
    for (Violation each : violations) {
      all.computeIfAbsent(each.scope() + "/" + each.rule().id(), none -> new ArrayList<>())
          .add(each);
    }
    return all;
  }

  private void readSource(Path file, String text) {
    Matcher declared = Pattern.compile("(?m)^package ([\\w.]+);").matcher(text);
    String scope = declared.find() ? declared.group(1) : file.toString();
    StringBuilder code = new StringBuilder();
    int from = 0;
    for (MatchResult found : LITERALS_AND_COMMENTS.matcher(text).results().toList()) {
      code.append(text, from, found.start()).append(found.group().startsWith("/") ? "" : "\"\"");
      from = found.end();
      readPart(scope, file + ":" + lineOf(text, found.start()), found.group());
    }
    code.append(text.substring(from));
    for (MatchResult type : TYPE.matcher(code).results().toList()) {
      List<String> places = types.computeIfAbsent(type.group(1), none -> new ArrayList<>());
      if (places.isEmpty()) {
        apply(scope, Part.TYPE, file.toString(), type.group(1));
      }
      places.add(file.toString());
    }
    METHOD
        .matcher(code)
        .results()
        .forEach(method -> apply(scope, Part.METHOD, file.toString(), method.group(1)));
    CONSTANT
        .matcher(code)
        .results()
        .map(MatchResult::group)
        .distinct()
        .forEach(constant -> apply(scope, Part.CONSTANT, file.toString(), constant));
  }

  private void readPart(String scope, String place, String found) {
    if (found.startsWith("\"")) {
      if (found.chars().filter(letter -> letter == ' ').count() >= 3) {
        apply(scope, Part.LITERAL, place, found.replaceAll("^\"+|\"+$", ""));
      }
    } else if (found.startsWith("//")) {
      apply(scope, Part.COMMENT, place, found.substring(2).strip());
    } else if (found.startsWith("/*")
        && !found
            .substring(0, Math.min(400, found.length()))
            .matches("(?s).*(icensed|opyright).*")) {
      String plain = TAGS.matcher(plain(found)).replaceFirst("").strip();
      apply(scope, Part.COMMENT, place, plain);
      boolean isDoc = found.startsWith("/**") && !plain.isEmpty();
      if (isDoc && !plain.startsWith("@") && !plain.startsWith("{@inheritDoc")) {
        apply(scope, Part.FIRST_WORDS, place, plain);
      }
    }
  }

  private static String plain(String comment) {
    return comment
        .substring(comment.startsWith("/**") ? 3 : 2, comment.length() - 2)
        .replaceAll("\n\\s*\\* ?", " ")
        .replaceAll("(?s)<pre>.*?</pre>", " ")
        .replaceAll("\\{@(?:code|link|linkplain|value|literal)\\s+([^}]*)}", "$1")
        .replaceAll("<[^>]+>", " ")
        .replaceAll("\\s+", " ")
        .strip();
  }

  private void readPage(String scope, String text) {
    String prose = prose(text);
    int words = (int) Pattern.compile("[A-Za-z][A-Za-z'-]*").matcher(prose).results().count();
    parts
        .computeIfAbsent(scope, none -> new LinkedHashMap<>())
        .merge(Part.PAGE, words, Integer::sum);
    for (Rule rule : RULES) {
      if (rule.part() == Part.PAGE) {
        for (MatchResult found : rule.pattern().matcher(prose).results().toList()) {
          String around =
              prose.substring(
                  Math.max(0, found.start() - 40), Math.min(prose.length(), found.end() + 40));
          violations.add(
              new Violation(
                  scope,
                  rule,
                  scope + ":" + lineOf(prose, found.start()),
                  around.replaceAll("\\s+", " ").strip()));
        }
      }
    }
  }

  /** Returns a page without its code; lines stay where they are. */
  private static String prose(String page) {
    String noBlocks =
        Pattern.compile("(?s)```.*?```")
            .matcher(page)
            .replaceAll(
                block -> "\n".repeat((int) block.group().chars().filter(c -> c == '\n').count()));
    return noBlocks.replaceAll("`[^`]*`", "x").replaceAll("\\]\\([^)\\s]*\\)", "]");
  }

  /** Returns the median of the words in the ten longest sentences of a page. */
  static int longSentences(String page) {
    String text = prose(page).replaceAll("(?m)^[#|].*$", "");
    List<Integer> longest =
        Pattern.compile("(?<=[.!?])\\s+|\n\n|\n[-*] ")
            .splitAsStream(text)
            .map(sentence -> sentence.strip().split("\\s+").length)
            .sorted(Comparator.reverseOrder())
            .limit(10)
            .toList();
    return longest.isEmpty() ? 0 : longest.get(longest.size() / 2);
  }

  private void apply(String scope, Part part, String place, String text) {
    parts.computeIfAbsent(scope, none -> new LinkedHashMap<>()).merge(part, 1, Integer::sum);
    for (Rule rule : RULES) {
      if (rule.part() == part && rule.pattern().matcher(text).find()) {
        violations.add(new Violation(scope, rule, place, text));
      }
    }
  }

  private static int lineOf(String text, int at) {
    return 1 + (int) text.substring(0, at).chars().filter(letter -> letter == '\n').count();
  }

  private String table() {
    StringBuilder table = new StringBuilder("rule  share   level  broken  of\n");
    for (Rule rule : RULES) {
      int all = parts.values().stream().mapToInt(each -> each.getOrDefault(rule.part(), 0)).sum();
      long broken = violations.stream().filter(each -> each.rule() == rule).count();
      if (all > 0) {
        table.append(
            String.format(
                Locale.ROOT,
                "%-4s %6.2f  %6.2f  %6d  %d %s, per %d%n",
                rule.id(),
                (double) rule.part().per * broken / all,
                rule.level(),
                broken,
                all,
                rule.part().text,
                rule.part().per));
      }
    }
    return table.toString();
  }

  /** Prints the share of each rule; {@code --list} prints each place too. */
  public static void main(String[] args) throws IOException {
    List<String> options = Stream.of(args).filter(each -> each.startsWith("--")).toList();
    List<Path> paths =
        Stream.of(args).filter(each -> !each.startsWith("--")).map(Path::of).toList();
    if (paths.isEmpty()) {
      System.err.println("usage: PlainWords.java [--md] [--list] PATH...");
      System.exit(2);
    }
    PlainWords words = options.contains("--md") ? ofPages(paths) : ofSources(paths);
    if (options.contains("--list")) {
      words.violations().forEach(each -> System.out.println(each.message()));
    }
    System.out.print(words.table());
  }
}
