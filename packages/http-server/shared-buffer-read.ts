import { Socket } from 'node:net'

/** Receives `length` bytes at the start of `buffer`, which are valid until it returns. */
export type ReadCallback = (buffer: Buffer, length: number) => void

const READ_BUFFER_BYTES = 64 * 1024

/** Chunk size for input that may be many requests. */
const SPLIT_BYTES = 1024
const MAX_REQUESTS_PER_READ = 16
const END_OF_HEAD = Buffer.from('\r\n\r\n')

/** The buffer of all reads: data that is kept must be copied. */
const SHARED_BUFFER = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)

interface StreamHandle {
  useUserBuffer?(buffer: Buffer): void
}

/** Where a socket has the buffer and the callback of the option `onread`; undefined when Node stores them elsewhere. */
const SLOTS = findSlots()

/** Like the option `onread` (docs/decisions/005-reading-into-one-buffer.md). The result restores normal reading. */
export function readIntoSharedBuffer(socket: Socket, take: ReadCallback): () => void {
  const slots = socket as unknown as Record<symbol, unknown>
  const { _handle: handle } = socket as unknown as { _handle?: StreamHandle | null }
  if (!SLOTS || !handle?.useUserBuffer) return readFromStream(socket, take)
  slots[SLOTS.buffer] = SHARED_BUFFER
  slots[SLOTS.callback] = (length: number) => take(SHARED_BUFFER, length)
  handle.useUserBuffer(SHARED_BUFFER)
  return () => {
    slots[SLOTS.callback] = (length: number) => {
      let isWanted = true
      for (const piece of splitForParser(Buffer.from(SHARED_BUFFER.subarray(0, length))))
        isWanted = socket.push(piece)
      return isWanted
    }
  }
}

/** The same without internal properties, slower. */
export function readFromStream(socket: Socket, take: ReadCallback): () => void {
  const onData = (chunk: Buffer) => take(chunk, chunk.length)
  socket.on('data', onData)
  return () => {
    socket.off('data', onData)
    socket.pause()
  }
}

/** Takes the bytes that arrived before a reader was installed. */
export function takeBuffered(socket: Socket): Buffer | undefined {
  return socket.readableLength > 0 ? (socket.read() as Buffer) : undefined
}

/**
 * Splits input for Node's parser: it processes all of its input, however many requests that is, and can be
 * paused only between chunks. Input that cannot be many requests, such as a body, stays whole.
 */
export function splitForParser(bytes: Buffer): Buffer[] {
  if (!mayHoldManyRequests(bytes)) return [bytes]
  const count = Math.ceil(bytes.length / SPLIT_BYTES)
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * SPLIT_BYTES, (index + 1) * SPLIT_BYTES),
  )
}

function mayHoldManyRequests(bytes: Buffer): boolean {
  let at = -1
  for (let ends = 0; ends < MAX_REQUESTS_PER_READ; ends++) {
    at = bytes.indexOf(END_OF_HEAD, at + 1)
    if (at < 0) return false
  }
  return true
}

function findSlots(): { buffer: symbol; callback: symbol } | undefined {
  const callback = () => true
  const socket = new Socket({ onread: { buffer: SHARED_BUFFER, callback } })
  const slots = socket as unknown as Record<symbol, unknown>
  const symbols = Object.getOwnPropertySymbols(socket)
  const bufferSlot = symbols.find((symbol) => slots[symbol] === SHARED_BUFFER)
  const callbackSlot = symbols.find((symbol) => slots[symbol] === callback)
  return bufferSlot && callbackSlot && { buffer: bufferSlot, callback: callbackSlot }
}
