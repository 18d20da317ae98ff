package dev.berth.cli;

import java.io.PrintWriter;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Command {@code berth completion}: prints a script for the completion of commands and options. */
@Command(
    name = "completion",
    header = "Prints a completion script for bash and zsh.",
    description = {
      "One script serves both shells. Source it at shell start, as in the first example, or put it"
          + " into the directory of bash-completion: /etc/bash_completion.d."
    },
    exitCodeList = {"0:printed", "2:wrong usage"},
    footer = {
      "  source <(berth completion bash)",
      "  berth completion bash > berth-completion.bash",
    })
final class CompletionCommand extends CliCommand {
  /** Shells that run the script. */
  enum Shell {
    BASH,
    ZSH;

    @Override
    public String toString() {
      return name().toLowerCase(java.util.Locale.ROOT);
    }
  }

  @Parameters(
      paramLabel = "SHELL",
      arity = "0..1",
      defaultValue = "bash",
      description = "Name of the shell: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}")
  private Shell shell;

  @Override
  void run(PrintWriter out) {
    out.println(AutoComplete.bash("berth", spec.root().commandLine()));
  }
}
