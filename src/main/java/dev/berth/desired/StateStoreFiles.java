package dev.berth.desired;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** The disk operations of a {@link StateStore} in its directory. A test can make them fail. */
interface StateStoreFiles extends Closeable {

  /** Returns the names of all files. */
  List<String> list() throws IOException;

  byte[] read(String name) throws IOException;

  /** Returns the path of a file, for people. */
  default String path(String name) {
    return name;
  }

  /** Opens a file for writing, and creates it when it is missing. */
  StateFileOutput open(String name) throws IOException;

  /** Renames a file atomically, replacing any file of that name. */
  void rename(String from, String to) throws IOException;

  /** Deletes a file, if it exists. */
  void delete(String name) throws IOException;

  /** Returns the free bytes of the disk. */
  long room();

  /** Makes all earlier creations, renames and deletions survive a crash. */
  void forceNames() throws IOException;

  /** A file open for writing. */
  interface StateFileOutput extends Closeable {

    /** Writes all of {@code bytes}, or a part of it before it fails. */
    void write(ByteBuffer bytes, long position) throws IOException;

    void truncate(long size) throws IOException;

    /** Makes all earlier writes survive a crash. */
    void force() throws IOException;
  }
}
