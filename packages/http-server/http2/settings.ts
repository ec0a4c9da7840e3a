import { CODE, ConnectionError, MAX_FRAME_BYTES, MAX_WINDOW_BYTES, SETTING, settingsFrame } from './frame.ts'
import { MAX_HEADER_LIST_BYTES } from './hpack/decoder.ts'
import { MAX_CONCURRENT_STREAMS } from './streams.ts'

/** The server's settings (RFC 9113, 6.5.2); all others keep their initial value. */
export const OWN_SETTINGS = settingsFrame([
  [SETTING.maxConcurrentStreams, MAX_CONCURRENT_STREAMS],
  [SETTING.maxHeaderListSize, MAX_HEADER_LIST_BYTES],
  [SETTING.noPriorities, 1],
])

const SETTING_BYTES = 6

/** The client's relevant settings; the last value of each counts. */
export interface PeerSettings {
  headerTableSize?: number
  initialWindowSize?: number
}

export function readSettings(bytes: Buffer, at: number, length: number): PeerSettings {
  if (length % SETTING_BYTES !== 0)
    throw new ConnectionError(CODE.frameSize, 'SETTINGS length is not a multiple of 6')
  const wanted: PeerSettings = {}
  for (let from = at; from < at + length; from += SETTING_BYTES) {
    const value = bytes.readUInt32BE(from + 2)
    switch (bytes.readUInt16BE(from)) {
      case SETTING.headerTableSize:
        // A table that shrinks and grows again was emptied (RFC 7541, 4.2).
        wanted.headerTableSize = Math.min(value, wanted.headerTableSize ?? value)
        break
      case SETTING.enablePush:
      case SETTING.noPriorities:
        assertSetting(value <= 1)
        break
      case SETTING.initialWindowSize:
        if (value > MAX_WINDOW_BYTES)
          throw new ConnectionError(CODE.flowControl, 'SETTINGS_INITIAL_WINDOW_SIZE too large')
        wanted.initialWindowSize = value
        break
      case SETTING.maxFrameSize:
        assertSetting(value >= MAX_FRAME_BYTES && value < 2 ** 24)
    }
  }
  return wanted
}

function assertSetting(isAllowed: boolean): void {
  if (!isAllowed) throw new ConnectionError(CODE.protocol, 'invalid value in SETTINGS')
}
