package dev.berth.cli;

import dev.berth.cli.dev.ProjectTemplate;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth new}: writes a project of an application. */
@Command(
    name = "new",
    header = "Writes a project: an application of two deployments, its test and its file.",
    description = {
      "Creates the folder NAME with a Maven project in Java. Its build needs the artifacts of this"
          + " version of Berth, as its README describes."
    },
    exitCodeList = {
      "0:written",
      "1:the folder is not empty, or not writable; nothing was changed",
      "2:wrong usage, or a name of other characters"
    },
    footer = {"  berth new shop", "  berth new my-shop --kotlin", "  berth new shop2 --gradle"})
final class NewCommand extends CliCommand {
  /** Kinds of projects other than Maven with Java. */
  private static final class ProjectKind {
    @Option(names = "--kotlin", description = "Writes the sources in Kotlin.")
    private boolean kotlin;

    @Option(names = "--gradle", description = "Writes build files of Gradle, 7 or later.")
    private boolean gradle;
  }

  @Parameters(
      paramLabel = "NAME",
      description = "Name of the project: lower-case letters, digits and hyphens.")
  private String name;

  @ArgGroup private ProjectKind kind = new ProjectKind();

  @Override
  void run(PrintWriter out) {
    if (!name.matches("[a-z]([a-z0-9]|-(?=[a-z0-9])){0,49}")) {
      String expected = "at most 50 lower-case letters, digits and hyphens, from a letter";
      throw wrong("NAME: " + name + " (expected: " + expected + ")");
    }
    String version = BerthCommand.class.getPackage().getImplementationVersion();
    ProjectTemplate template =
        new ProjectTemplate(
            name,
            kind.kotlin ? "kotlin" : kind.gradle ? "gradle" : "java",
            version == null ? "unreleased" : version);
    try {
      template.write(Path.of(name)).forEach(out::println);
    } catch (IOException failed) {
      throw failure("new: " + failed.getMessage());
    }
    out.println("Next: cd " + name + " && berth dev");
  }
}
