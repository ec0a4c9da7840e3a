import { argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { MAX_PASSWORD_LENGTH } from '../../protocol/api/sites.ts'
import { SharedSemaphore } from '../lib/concurrency-limiter.ts'
import { constantTimeEqual } from '../lib/tokens.ts'

/** No site may set this cookie itself. */
export const PASSWORD_COOKIE = 'slipway_password'

/** Only the host itself can set a cookie of such a name (RFC 6265bis, 4.1.3.2). */
export const SECURE_PASSWORD_COOKIE = `__Host-${PASSWORD_COOKIE}`

/** Argon2id (RFC 9106) with 19 MiB, two passes and one lane. */
const ARGON2_COST = { memory: 19 * 1024, passes: 2, parallelism: 1, tagLength: 32 }

/** In another normal form, a password can be three times as long. To normalize many marks takes quadratic time. */
const MAX_TYPED_LENGTH = 3 * MAX_PASSWORD_LENGTH

const derive = promisify(argon2)

/** For all work with passwords of the process: a hash takes 19 MiB and a thread for some tens of milliseconds. */
export const passwordWork = new SharedSemaphore({ running: 4, waiting: 64 })

/** Parameters, salt and tag, readable by `verifyPassword` forever. Within `passwordWork`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const tag = await deriveTag(password, salt, ARGON2_COST)
  const { memory, passes, parallelism } = ARGON2_COST
  return [
    'argon2id',
    memory,
    passes,
    parallelism,
    salt.toString('base64url'),
    tag.toString('base64url'),
  ].join('$')
}

/** Within `passwordWork`. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  if (password.length > MAX_TYPED_LENGTH) return false
  const [, memory, passes, parallelism, salt, tag] = stored.split('$')
  const expected = Buffer.from(tag!, 'base64url')
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  }
  const actual = await deriveTag(password, Buffer.from(salt!, 'base64url'), cost)
  return constantTimeEqual(actual.toString('hex'), expected.toString('hex'))
}

function deriveTag(password: string, nonce: Buffer, cost: typeof ARGON2_COST): Promise<Buffer> {
  return derive('argon2id', { message: Buffer.from(password.normalize('NFC')), nonce, ...cost })
}
