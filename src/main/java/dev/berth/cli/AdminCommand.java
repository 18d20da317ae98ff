package dev.berth.cli;

import picocli.CommandLine.Mixin;

/** A command that asks the admin server of an instance that runs. */
abstract class AdminCommand extends CliCommand {
  final Surroundings around;

  @Mixin final AdminServer server;

  AdminCommand(Surroundings around) {
    this.around = around;
    this.server = new AdminServer(around);
  }
}
