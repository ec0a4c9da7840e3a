import { CODE, ConnectionFault, MOST_PAYLOAD, MOST_WINDOW, SETTING, settingsFrame } from './frame.ts'
import { MOST_LIST_BYTES } from './hpack/decoder.ts'
import { MOST_STREAMS } from './streams.ts'

/** What this end allows (RFC 9113, 6.5.2); everything else stays as it is at first. */
export const OWN_SETTINGS = settingsFrame([
  [SETTING.maxConcurrentStreams, MOST_STREAMS],
  [SETTING.maxHeaderListSize, MOST_LIST_BYTES],
  [SETTING.noPriorities, 1],
])

/** Bytes of a setting. */
const SIZE = 6

/** What a client wants, as far as it matters here; each the last value that is said. */
export interface Wanted {
  headerTableSize?: number
  initialWindowSize?: number
}

/** Reads the payload of a SETTINGS frame. */
export function readSettings(bytes: Buffer, at: number, length: number): Wanted {
  if (length % SIZE !== 0) throw new ConnectionFault(CODE.frameSize, 'settings have half a value')
  const wanted: Wanted = {}
  for (let from = at; from < at + length; from += SIZE) {
    const value = bytes.readUInt32BE(from + 2)
    switch (bytes.readUInt16BE(from)) {
      case SETTING.headerTableSize:
        // A table that shrinks and grows again has shrunk (RFC 7541, 4.2).
        wanted.headerTableSize = Math.min(value, wanted.headerTableSize ?? value)
        break
      case SETTING.enablePush:
      case SETTING.noPriorities:
        check(value <= 1)
        break
      case SETTING.initialWindowSize:
        if (value > MOST_WINDOW) throw new ConnectionFault(CODE.flowControl, 'a first window is too large')
        wanted.initialWindowSize = value
        break
      case SETTING.maxFrameSize:
        check(value >= MOST_PAYLOAD && value < 2 ** 24)
    }
  }
  return wanted
}

function check(isAllowed: boolean): void {
  if (!isAllowed) throw new ConnectionFault(CODE.protocol, 'a setting has a value that it cannot have')
}
