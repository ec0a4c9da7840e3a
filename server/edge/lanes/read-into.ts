import { Socket } from 'node:net'

/** Takes `length` bytes from the beginning of `buffer`, which are valid until it returns. */
export type Take = (buffer: Buffer, length: number) => void

/** What a read may bring at once. */
const BYTES = 64 * 1024

/** Bytes of a piece when what came may be as many requests. */
const PIECE = 1024
const MANY = 16
const END = Buffer.from('\r\n\r\n')

/** Every read of every connection goes here: what is wanted for longer has to be copied. */
const SHARED = Buffer.allocUnsafeSlow(BYTES)

interface Handle {
  useUserBuffer?(buffer: Buffer): void
}

/** Where a socket made with the option `onread` keeps the buffer and the callback; undefined on a Node that does it otherwise. */
const SLOTS = findSlots()

/**
 * Gives what a socket receives to `take`, as the option `onread` of `net.Socket` does, which `net.Server` does not have:
 * without it each read costs a buffer of 64 KiB and a tour through a stream, a fifth of a small answer's time
 * (docs/decisions/005-reading-into-one-buffer.md). Answers a function that makes the socket a usual one again.
 */
export function readInto(socket: Socket, take: Take): () => void {
  const slots = socket as unknown as Record<symbol, unknown>
  const { _handle: handle } = socket as unknown as { _handle?: Handle | null }
  if (!SLOTS || !handle?.useUserBuffer) return readChunks(socket, take)
  slots[SLOTS.buffer] = SHARED
  slots[SLOTS.callback] = (length: number) => take(SHARED, length)
  handle.useUserBuffer(SHARED)
  return () => {
    slots[SLOTS.callback] = (length: number) => {
      let isWanted = true
      for (const piece of inPieces(Buffer.from(SHARED.subarray(0, length)))) isWanted = socket.push(piece)
      return isWanted
    }
  }
}

/** The way without private parts: slower, and the same otherwise. */
export function readChunks(socket: Socket, take: Take): () => void {
  const onData = (chunk: Buffer) => take(chunk, chunk.length)
  socket.on('data', onData)
  return () => {
    socket.off('data', onData)
    socket.pause()
  }
}

/**
 * What Node's parser is to be given one after the other: it takes in all that it is given, however many requests, and can
 * be told to wait in between only. What cannot be many requests, as most of a body, stays whole.
 */
export function inPieces(bytes: Buffer): Buffer[] {
  if (!mayBeMany(bytes)) return [bytes]
  const count = Math.ceil(bytes.length / PIECE)
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * PIECE, (index + 1) * PIECE))
}

function mayBeMany(bytes: Buffer): boolean {
  let at = -1
  for (let ends = 0; ends < MANY; ends++) {
    at = bytes.indexOf(END, at + 1)
    if (at < 0) return false
  }
  return true
}

function findSlots(): { buffer: symbol; callback: symbol } | undefined {
  const callback = () => true
  const socket = new Socket({ onread: { buffer: SHARED, callback } })
  const slots = socket as unknown as Record<symbol, unknown>
  const symbols = Object.getOwnPropertySymbols(socket)
  const bufferSlot = symbols.find((symbol) => slots[symbol] === SHARED)
  const callbackSlot = symbols.find((symbol) => slots[symbol] === callback)
  return bufferSlot && callbackSlot && { buffer: bufferSlot, callback: callbackSlot }
}
