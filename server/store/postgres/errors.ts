import { ApiError, databaseUnavailable, diskFull } from '../../lib/errors.ts'

/** `server_version_num` of PostgreSQL 13, the oldest version with what the migrations and the store use. */
export const MIN_SERVER_VERSION = 130_000

export const OLD_SERVER = 'version 13 or later is required'

/** SQLSTATE classes of a server that cannot work now: connection, resources, operator intervention, system. */
const UNAVAILABLE_CLASSES = new Set(['08', '53', '57', '58'])

/** read_only_sql_transaction: the server is a standby, or read-only by its settings, as without space on its disk. */
const READ_ONLY = '25006'

/** The second is lock_not_available: a timeout. */
const UNAVAILABLE_STATES = new Set([READ_ONLY, '55P03', '25P03'])

/** SQLSTATE classes of a wrong user or password, and of a wrong database: another attempt has the same result. */
const REFUSED_CLASSES = new Set(['28', '3D'])

const DISK_FULL = '53100'

/** serialization_failure and deadlock_detected: the server rolled the transaction back, and it may be repeated. */
const REPEATABLE_STATES = new Set(['40001', '40P01'])

/** Whether the server has executed a query is not known, or whether its commit was replicated. */
export class OutcomeUnknownError extends Error {}

export function isRepeatable(error: unknown): boolean {
  return REPEATABLE_STATES.has(stateOf(error) ?? '')
}

export function isLockTimeout(error: unknown): boolean {
  return stateOf(error) === '55P03'
}

export function isReadOnly(error: unknown): boolean {
  return stateOf(error) === READ_ONLY
}

export function isDiskFull(error: unknown): boolean {
  return stateOf(error) === DISK_FULL
}

export function isConnectionLost(error: unknown): boolean {
  if (error instanceof OutcomeUnknownError) return true
  const state = stateOf(error)
  if (state === undefined) return isNetworkError(error)
  return state.startsWith('08') || state.startsWith('57P') || state === READ_ONLY || state === '25P03'
}

export function translateError(error: unknown): never {
  if (isDiskFull(error)) throw diskFull(error)
  const state = stateOf(error)
  const isUnavailable =
    error instanceof OutcomeUnknownError ||
    isNetworkError(error) ||
    isRepeatable(error) ||
    (state !== undefined && (UNAVAILABLE_CLASSES.has(state.slice(0, 2)) || UNAVAILABLE_STATES.has(state)))
  throw isUnavailable ? unavailable(error) : error
}

/** Says when to try again, unless the server refuses the user, the password or the database. */
export function unavailable(cause?: unknown): ApiError {
  if (REFUSED_CLASSES.has(stateOf(cause)?.slice(0, 2) ?? ''))
    return new ApiError('UNAVAILABLE', 'The database server refuses the connection.', { cause })
  return databaseUnavailable(cause)
}

export function unsupported(version: string): ApiError {
  return new ApiError('UNAVAILABLE', `The database server is PostgreSQL ${version}: ${OLD_SERVER}.`)
}

function stateOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Errors of sockets, and those that `pg` throws for a connection that ended. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ApiError) return false
  const { code } = error as NodeJS.ErrnoException
  if (typeof code === 'string' && /^E[A-Z]{3,}$/.test(code)) return true
  return /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout expired)/.test(
    error.message,
  )
}
