import type { IncomingMessage } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ClientMemory, MemoryReservation } from '../../packages/http-server/clients/client-memory.ts'
import type { TransferRates } from '../../packages/http-server/clients/transfer-rates.ts'
import { GrowingBuffer } from '../../packages/http-server/memory/growing-buffer.ts'
import type { RequestMessage } from '../../packages/http-server/request-message.ts'
import { decodeUtf8 } from '../lib/decode-utf8.ts'
import { ApiError, invalidField, tooLarge } from '../lib/errors.ts'
import { overloaded } from '../lib/semaphore.ts'
import { findInternalRequest } from './internal-requests.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Until the response is sent. Present when the request has a body. */
    bodyMemory: MemoryReservation | undefined
    bodyBytes: number
  }
  interface FastifyContextConfig {
    /** Default: the route's `bodyLimit`. */
    anonymousBodyLimit?: number
  }
}

interface BodiesOptions {
  clientMemory: ClientMemory
  transferRates: TransferRates
  clientIp: (request: IncomingMessage) => string
}

/** Measured with one-letter objects and keys, the worst cases. */
const JSON_VALUE_BYTES = 64

/** The text and its strings, with two bytes for each character. */
const JSON_TEXT_FACTOR = 3

/** The file or the part of the spool that is being gathered (2 MiB) and small files that are being written (1 MiB). */
export const ARCHIVE_MEMORY_BYTES = 3 * 2 ** 20

/**
 * Accounts for memory and enforces the minimum rate, from before the body is parsed until the response is sent. A body
 * that is too slow is answered REQUEST_TIMEOUT and its connection closed.
 */
export function accountBodies(app: FastifyInstance, options: BodiesOptions): void {
  const { clientMemory, transferRates, clientIp } = options
  app.decorateRequest('bodyMemory')
  app.decorateRequest('bodyBytes', 0)
  app.addHook('preParsing', async (request, reply) => {
    if (!hasBody(request)) return
    // Files would be served as the coded bytes, without the header.
    if (!/^(identity)?$/i.test(request.headers['content-encoding'] ?? ''))
      throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'A body with Content-Encoding is not supported')
    const memory = clientMemory.reserve(clientIp(request.raw))
    request.bodyMemory = memory
    // The client may have disconnected earlier, while hooks of the request waited for the store.
    if (reply.raw.closed) memory[Symbol.dispose]()
    else reply.raw.once('close', () => memory[Symbol.dispose]())
    transferRates.watch(request.raw as RequestMessage, () => {
      if (!reply.sent) reply.header('Connection', 'close').send(tooSlow())
    })
  })
}

/** For a body that its handler reads as a stream. UNAVAILABLE when there is no memory. */
export function reserveBody({ bodyMemory }: FastifyRequest, bytes: number): void {
  if (bodyMemory && !bodyMemory.resize(bytes)) throw overloaded()
}

/** Grows one buffer. PAYLOAD_TOO_LARGE beyond the caller's limit, UNAVAILABLE when clients hold too much memory. */
export async function readBody(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer> {
  const limit = bodyLimit(request)
  if (Number(request.headers['content-length']) > limit) throw tooLarge('The request body', limit)
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const buffer = new GrowingBuffer()
  const append = (chunk: Buffer) => {
    if (buffer.length + chunk.length > limit) return reject(tooLarge('The request body', limit))
    if (request.bodyMemory?.resize(buffer.capacityFor(chunk.length)) === false) return reject(overloaded())
    buffer.append(chunk)
  }
  const end = () => {
    payload.off('close', cutOff)
    resolve(buffer.take())
  }
  const cutOff = () => reject(incompleteBody())
  payload.on('data', append).once('end', end).once('error', cutOff).once('close', cutOff)
  try {
    return await promise
  } finally {
    // Further bytes are dropped. The error listener stays: an unhandled error would end the process.
    payload.off('data', append).off('end', end).off('close', cutOff)
  }
}

function bodyLimit({ routeOptions, caller }: FastifyRequest): number {
  const { bodyLimit: limit, config } = routeOptions
  return caller?.account === undefined ? (config.anonymousBodyLimit ?? limit!) : limit!
}

/** Undefined for an empty body. INVALID_JSON, VALIDATION_ERROR for its structure, and the errors of `readBody`. */
export async function readJson(request: FastifyRequest, payload: IncomingMessage): Promise<unknown> {
  const internal = findInternalRequest(request.raw)
  if (internal) return internal.body
  const bytes = await readBody(request, payload)
  request.bodyBytes = bytes.length
  if (bytes.length === 0) return undefined
  const textBytes = JSON_TEXT_FACTOR * bytes.length
  reserveBody(request, textBytes)
  reserveBody(request, textBytes + JSON_VALUE_BYTES * (await checkJsonStructure(bytes)))
  const text = decodeUtf8(bytes)
  if (text === undefined) throw new ApiError('INVALID_JSON', 'The body is not valid JSON: it is not UTF-8')
  // Decoding and parsing the largest body may take tens of milliseconds each.
  await turn()
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    const [place] = message.startsWith('Unexpected end')
      ? ['it ends early']
      : (/line \d+ column \d+/.exec(message) ?? [])
    throw new ApiError('INVALID_JSON', `The body is not valid JSON${place ? `: ${place}` : ''}`)
  }
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

export function incompleteBody(): ApiError {
  const sentence = 'The request body is incomplete: the connection closed before all bytes arrived'
  return new ApiError('SIZE_MISMATCH', sentence)
}

function tooSlow(): ApiError {
  const sentence = 'The upload was too slow. The minimum is 1 kB per second, averaged over a minute.'
  return new ApiError('REQUEST_TIMEOUT', sentence)
}

/** No request of the API needs more than five levels. */
const MAX_DEPTH = 32

/** A manifest of 1,000 files has about 8,000. */
const MAX_MEMBERS = 50_000

/** Length of a name as it is written. */
const MAX_NAME_BYTES = 1000

/** Other work of the event loop is done after these; a string is scanned whole. */
const SLICE_BYTES = 2 ** 20

const [QUOTE, COMMA, COLON, OPEN_ARRAY, BACKSLASH, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
] as const

/**
 * Returns the number of members and elements. VALIDATION_ERROR beyond a limit: parsing and validating millions of
 * nested or tiny values, or storing a name of millions of characters, would hold the event loop for long.
 */
async function checkJsonStructure(bytes: Uint8Array): Promise<number> {
  let depth = 0
  let members = 0
  let stringBytes = 0
  let sliceEnd = SLICE_BYTES
  for (let at = 0; at < bytes.length; at++) {
    if (at > sliceEnd) {
      await turn()
      sliceEnd = at + SLICE_BYTES
    }
    switch (bytes[at]) {
      case QUOTE: {
        const end = endOfString(bytes, at)
        stringBytes = end - at
        at = end
        break
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > MAX_DEPTH)
          throw invalidField('body', `must not be nested more than ${MAX_DEPTH} levels deep`)
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        break
      case COLON:
        if (stringBytes > MAX_NAME_BYTES)
          throw invalidField('body', `must have names of at most ${MAX_NAME_BYTES} characters`)
        members++
        break
      case COMMA:
        members++
    }
    if (members > MAX_MEMBERS)
      throw invalidField('body', `must have at most ${MAX_MEMBERS} members and elements in total`)
  }
  return members
}

/** The end of the text when no quote ends the string. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at
    if (bytes[at] === BACKSLASH) at++
  }
  return bytes.length
}
