package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.code.LoadedApplication;
import dev.berth.controller.ControllerEvent;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.ControllerCommands;
import io.vertx.core.Future;
import java.util.List;
import java.util.function.Function;

/**
 * What commands an instance: the controller on it, or the way to one elsewhere. Control loop,
 * unless a method says otherwise.
 */
interface Commander {

  /** Tells the controller, later, in the order of the calls. Any thread. */
  void tell(ControllerEvent event);

  /** Says something to the controller that may be lost, and is said again. */
  void send(BusMessage message);

  /**
   * Says something to the controller that is answered, within 1.5 s or not at all.
   *
   * @return with the term of the controller that took it
   */
  Future<Long> ask(BusMessage message);

  /** Nothing here uses that code any more. */
  void gone(LoadedApplication code);

  /**
   * What operators and other nodes may ask of the controller that is here.
   *
   * @param here answers by the commands of a controller on this instance
   */
  List<AdminRoutes> operators(Function<ControllerCommands, AdminRoutes> here);

  /** What operators are answered by another node; mounted last. */
  List<AdminRoutes> forwarded();

  /** Completes when it commands. */
  Future<Void> start();

  /** Completes when requests may come: what holds for this instance was commanded. */
  Future<Void> complete();

  /** The instance drains: what goes goes with it. */
  void drains();

  /**
   * No request is under way any more: its replicas drain.
   *
   * @return completes when none is left
   */
  Future<Void> withdraw();

  /** It commands no more. */
  Future<Void> stop();
}
