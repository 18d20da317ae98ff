package dev.berth.node;

import dev.berth.controller.DeclaredApplication;
import java.util.List;

/** What the controller is to keep true, as it was accepted. Belongs to the control loop. */
interface Declarations extends Builds.Sources {

  /** Every application that is wanted. */
  List<DeclaredApplication> declared();

  /** The term of the next controller: later than that of any before, in whichever process. */
  long nextTerm();
}
