package dev.berth.cli;

import picocli.CommandLine.Mixin;

/** A command that asks the admin server of an instance that runs. */
abstract class AdminCommand extends CliCommand {
  @Mixin AdminServer server;
}
