package dev.berth.architecture;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.PackageTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * What class files do not show: sizes, names and comments. Each rule is the list of what breaks it,
 * with what to do about that.
 *
 * @param budgets the bounds that differ from file to file and from package to package
 */
record Tidy(List<Source> sources, Budgets budgets) {
  private static final int FILES = 40;
  private static final int LINES = 500;
  private static final int PARAMETERS = 8;

  /** A file; members are where declarations begin that a documentation comment may stand before. */
  record Source(
      Path path,
      String text,
      String packageName,
      List<String> types,
      List<Code> code,
      Set<Integer> members) {
    String name() {
      return path.getFileName().toString();
    }

    /** Comments in their order; {@code end} of each is where it ends. */
    List<MatchResult> comments() {
      return PlainWords.LITERALS_AND_COMMENTS
          .matcher(text)
          .results()
          .filter(found -> found.group().startsWith("/"))
          .toList();
    }

    int lines() {
      return (int) text.lines().count();
    }

    /** Lines that are neither blank nor comment nor import. */
    int codeLines() {
      int code = 0;
      boolean inComment = false;
      for (String each : (Iterable<String>) text.lines()::iterator) {
        String line = each.strip();
        if (inComment) {
          inComment = !line.contains("*/");
        } else if (line.startsWith("/*")) {
          inComment = !line.contains("*/");
        } else if (!line.isEmpty() && !line.startsWith("//") && !line.startsWith("import ")) {
          code++;
        }
      }
      return code;
    }
  }

  /** A method or a constructor of what is no record. */
  record Code(String name, int parameters) {}

  /** Reads and parses the files below a folder. */
  static Tidy of(Path root, Budgets budgets) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (Stream<Path> found = Files.walk(root);
        StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      List<Path> paths = found.filter(path -> path.toString().endsWith(".java")).sorted().toList();
      JavacTask task =
          (JavacTask)
              compiler.getTask(
                  null, files, null, null, null, files.getJavaFileObjectsFromPaths(paths));
      SourcePositions positions = Trees.instance(task).getSourcePositions();
      List<Source> sources = new ArrayList<>();
      for (CompilationUnitTree unit : task.parse()) {
        sources.add(source(root, unit, positions));
      }
      return new Tidy(sources, budgets);
    }
  }

  private static Source source(Path root, CompilationUnitTree unit, SourcePositions positions) {
    List<Code> code = new ArrayList<>();
    Set<Integer> members = new HashSet<>();
    new TreeScanner<@Nullable Void, @Nullable Tree>() {
      @Override
      public @Nullable Void visitPackage(PackageTree tree, @Nullable Tree within) {
        mark(tree);
        return null;
      }

      @Override
      public @Nullable Void visitClass(ClassTree tree, @Nullable Tree within) {
        mark(tree);
        tree.getMembers().forEach(this::mark);
        boolean record = tree.getKind() == Tree.Kind.RECORD;
        for (Tree member : tree.getMembers()) {
          if (member instanceof MethodTree method && !(record && method.getReturnType() == null)) {
            String name = tree.getSimpleName() + "#" + method.getName();
            code.add(new Code(name.replace("<init>", "new"), method.getParameters().size()));
          }
        }
        return super.visitClass(tree, tree);
      }

      private void mark(Tree tree) {
        members.add((int) positions.getStartPosition(unit, tree));
      }
    }.scan(unit, null);
    try {
      return new Source(
          root.toAbsolutePath().relativize(Path.of(unit.getSourceFile().toUri())),
          unit.getSourceFile().getCharContent(true).toString(),
          String.valueOf(unit.getPackageName()),
          unit.getTypeDecls().stream()
              .filter(ClassTree.class::isInstance)
              .map(type -> ((ClassTree) type).getSimpleName().toString())
              .toList(),
          code,
          members);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** More than can be held in the head is no package. */
  List<String> crowdedPackages() {
    List<String> broken = new ArrayList<>();
    byPackage()
        .forEach(
            (name, of) -> {
              long files = of.stream().filter(each -> !each.name().startsWith("package-")).count();
              if (files > FILES) {
                broken.add(
                    "%s: %d files (expected: at most %d; find its layers, and give the lower one a package)"
                        .formatted(name, files, FILES));
              }
            });
    return broken;
  }

  /** A long file has a reason. */
  List<String> longFilesWithoutReason() {
    List<String> broken = new ArrayList<>();
    for (Source source : sources) {
      int most = budgets.of("file", source.path().toString(), LINES);
      if (source.lines() > most && !saysWhy(source)) {
        broken.add(
            "%s: %d lines (expected: at most %d, or a first comment with \"over %d lines\" that says why; part it, or say it)"
                .formatted(source.path(), source.lines(), most, LINES));
      }
    }
    return broken;
  }

  private static boolean saysWhy(Source source) {
    List<MatchResult> comments = source.comments();
    return !comments.isEmpty()
        && comments.get(0).group().toLowerCase(Locale.ROOT).contains("over " + LINES + " lines");
  }

  /** What takes so much either does too much or is handed the parts of one thing. */
  List<String> manyParameters() {
    List<String> broken = new ArrayList<>();
    for (Source source : sources) {
      for (Code code : source.code()) {
        int most = budgets.of("parameters", code.name(), PARAMETERS);
        if (code.parameters() > most) {
          broken.add(
              "%s: %s takes %d parameters (expected: at most %d; make a record of those that go together)"
                  .formatted(source.path(), code.name(), code.parameters(), most));
        }
      }
    }
    return broken;
  }

  /** One name, one thing. */
  List<String> namesThatStandTwice() {
    SortedMap<String, String> first = new TreeMap<>();
    List<String> broken = new ArrayList<>();
    for (Source source : sources) {
      for (String type : source.types()) {
        String other = first.putIfAbsent(type, source.packageName());
        if (other != null) {
          broken.add(
              "%s: %s is in %s too (expected: one type of a name; call one of them what it alone is)"
                  .formatted(source.path(), type, other));
        }
      }
    }
    return broken;
  }

  /** A documentation comment stands before a declaration, or javadoc drops it without a word. */
  List<String> danglingComments() {
    List<String> broken = new ArrayList<>();
    for (Source source : sources) {
      List<MatchResult> comments = source.comments();
      for (MatchResult comment : comments) {
        if (comment.group().startsWith("/**")
            && !source.members().contains(after(source, comment, comments))) {
          long line =
              source.text().substring(0, comment.start()).chars().filter(c -> c == '\n').count()
                  + 1;
          broken.add(
              "%s:%d: a documentation comment of nothing (expected: one just before a declaration and its annotations; move it there, or begin it with /*)"
                  .formatted(source.path(), line));
        }
      }
    }
    return broken;
  }

  /** Where the next token begins; a second documentation comment takes the place of the first. */
  private static int after(Source source, MatchResult comment, List<MatchResult> comments) {
    int at = comment.end();
    while (at < source.text().length() && Character.isWhitespace(source.text().charAt(at))) {
      at++;
    }
    for (MatchResult next : comments) {
      if (next.start() == at && !next.group().startsWith("/**")) {
        return after(source, next, comments);
      }
    }
    return at;
  }

  /** Lines are a budget; what is worth more of them is worth a record. */
  List<String> packagesOverBudget() {
    List<String> broken = new ArrayList<>(budgets.problems());
    int all = sources.stream().mapToInt(Source::codeLines).sum();
    int total = budgets.of("total", "src/main", 0);
    if (all > total) {
      broken.add(
          "src/main: %d code lines (expected: at most %d in all, by %s; delete as many elsewhere in the same change, or raise the total by what the change is allowed and add the number of a record that names what was deleted)"
              .formatted(all, total, Budgets.FILE));
    }
    byPackage()
        .forEach(
            (name, of) -> {
              int lines = of.stream().mapToInt(Source::codeLines).sum();
              int most = budgets.of("package", name, 0);
              if (lines > most) {
                broken.add(
                    "%s: %d code lines (expected: at most %d, by %s; take some away, or write a decision record and add \"+%d\" and its number to the line there)"
                        .formatted(name, lines, most, Budgets.FILE, lines - most));
              }
            });
    return broken;
  }

  private Map<String, List<Source>> byPackage() {
    return sources.stream().collect(groupingBy(Source::packageName, TreeMap::new, toList()));
  }
}
