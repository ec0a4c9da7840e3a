import type { FromFrame, ToFrame } from './messages.ts'

/** Bounds of what a page can state (protocol/api/reviews.schema.ts). */
const LENGTHS = { path: 1025, selector: 512, text: 500, before: 100, after: 100 }
const MAX_IDS = 500
/** More in a second end the connection: the script sends a few, and a flood would keep the review page busy. */
const MAX_MESSAGES = 100

export interface FramePort {
  send(message: ToFrame): void
  close(): void
}

/** Connects to the script in a frame that has loaded. `receive` gets valid messages only: the page is hostile. */
export function openPort(frame: HTMLIFrameElement, receive: (message: FromFrame) => void): FramePort {
  const { port1, port2 } = new MessageChannel()
  let [second, count] = [0, 0]
  port1.onmessage = ({ data, timeStamp }) => {
    const now = Math.floor(timeStamp / 1000)
    count = now === second ? count + 1 : 1
    second = now
    if (count > MAX_MESSAGES) return port1.close()
    const message = readMessage(data)
    if (message) receive(message)
  }
  frame.contentWindow?.postMessage('slipway-review', new URL(frame.src).origin, [port2])
  return { send: (message) => port1.postMessage(message), close: () => port1.close() }
}

/** Undefined for what is no message of the script, or beyond a bound. */
export function readMessage(data: unknown): FromFrame | undefined {
  if (!isRecord(data)) return undefined
  switch (data.type) {
    case 'ready':
      return isText(data.path, LENGTHS.path) ? { type: 'ready', path: data.path } : undefined
    case 'open':
      return isText(data.id, 26) ? { type: 'open', id: data.id } : undefined
    case 'cancel':
      return { type: 'cancel' }
    case 'placed': {
      const { placed, missing } = data
      return areIds(placed) && areIds(missing) ? { type: 'placed', placed, missing } : undefined
    }
    case 'place':
      return readPlace(data.place)
  }
  return undefined
}

function readPlace(place: unknown): FromFrame | undefined {
  if (!isRecord(place)) return undefined
  const { path, selector, text, before, after, width, height } = place
  if (!isText(path, LENGTHS.path) || !isText(selector, LENGTHS.selector)) return undefined
  if (!isText(text, LENGTHS.text) || !isText(before, LENGTHS.before) || !isText(after, LENGTHS.after))
    return undefined
  if (!isSize(width) || !isSize(height)) return undefined
  return { type: 'place', place: { path, selector, text, before, after, width, height } }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length <= max
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 100_000
}

function areIds(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MAX_IDS && value.every((id) => isText(id, 26))
}
