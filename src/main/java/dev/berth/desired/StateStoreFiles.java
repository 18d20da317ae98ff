package dev.berth.desired;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** The directory of a {@link StateStore}: what it needs of a disk, so that a test can break it. */
interface StateStoreFiles extends Closeable {

  /** Names of all files. */
  List<String> list() throws IOException;

  byte[] read(String name) throws IOException;

  /** Where a file is, for people. */
  default String path(String name) {
    return name;
  }

  /** A file to write to, made when it is not there. */
  Output open(String name) throws IOException;

  /** Gives a file another name, in place of what had it, at once or not at all. */
  void rename(String from, String to) throws IOException;

  /** Nothing happens when there is none. */
  void delete(String name) throws IOException;

  /** Bytes that may still be written. */
  long room();

  /** Names given and taken until now outlast a crash. */
  void forceNames() throws IOException;

  /** A file that is written. */
  interface Output extends Closeable {

    /** Writes all of {@code bytes}, or a part of it before it fails. */
    void write(ByteBuffer bytes, long position) throws IOException;

    void truncate(long size) throws IOException;

    /** What was written until now outlasts a crash. */
    void force() throws IOException;
  }
}
