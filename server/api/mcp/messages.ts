import type { FastifyRequest } from 'fastify'
import { validationError } from '../../lib/errors.ts'

const MAX_BATCH_MESSAGES = 20

/** Revisions that have batches, which name themselves only in later messages. */
const BATCH_REVISIONS: readonly unknown[] = [undefined, '2025-03-26', '2024-11-05']

/** Limit without the arguments of a call; each member counts as 16 more characters. */
const MAX_MESSAGE_SIZE = 64 * 1024

/** One, or those of a batch, which revision 2025-03-26 has. They are handled one after another. */
export function readMessages({ body, headers }: FastifyRequest): readonly unknown[] {
  if (!Array.isArray(body)) return [assertSmall(body)]
  const problem = !BATCH_REVISIONS.includes(headers['mcp-protocol-version'])
    ? 'must be one message: the revision of the protocol has no batches'
    : body.length === 0 || body.length > MAX_BATCH_MESSAGES
      ? `must be a message, or a batch of 1 to ${MAX_BATCH_MESSAGES} messages`
      : undefined
  if (problem) throw validationError([{ field: 'body', message: problem }])
  return body.map(assertSmall)
}

/** Refuses what would take the library of the protocol long. It does not get the arguments of calls. */
function assertSmall(message: unknown): unknown {
  if (remainingSize(withoutArguments(message).rest, MAX_MESSAGE_SIZE) < 0)
    throw validationError([
      { field: 'body', message: 'is too large: only the arguments of a call may be long' },
    ])
  return message
}

/** Negative as soon as the size is exceeded. */
function remainingSize(value: unknown, size: number): number {
  if (typeof value === 'string') return size - value.length
  if (typeof value !== 'object' || value === null) return size
  let left = size
  for (const [name, member] of Object.entries(value)) {
    left = remainingSize(member, left - name.length - 16)
    if (left < 0) break
  }
  return left
}

interface CallMessage {
  method?: unknown
  params?: { name?: unknown; arguments?: unknown } | null
}

export function calledTool(message: unknown): unknown {
  const { method, params } = (message ?? {}) as CallMessage
  return method === 'tools/call' ? params?.name : undefined
}

/** A call without its arguments, and these; another message as it is. */
export function withoutArguments(message: unknown): { rest: unknown; args: unknown } {
  if (calledTool(message) === undefined) return { rest: message, args: undefined }
  const call = message as CallMessage
  const { arguments: args, ...params } = call.params!
  return { rest: { ...call, params }, args }
}

export function eventData(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim())
    .join('')
}
