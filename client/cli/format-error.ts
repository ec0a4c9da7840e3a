import type { QuotaDetails, SecretFinding } from '../../protocol/api/errors.schema.ts'
import { formatDuration, pluralize } from '../../protocol/format.ts'
import { findSystemCode } from '../sdk/connection-error.ts'
import { isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import { CliError, EXIT_CODES, InterruptedError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { quoteArgument } from './quote-argument.ts'
import { isDiskFull } from './state/private-file.ts'
import { formatLocalTime } from './terminal/time.ts'

/** The last request of the program. */
export interface LastRequest {
  hasKey: boolean
  /** The command that signs in there. */
  login: string
  /** That the request was about. */
  site?: string | undefined
}

/** An error as the program reports it. */
export interface ErrorReport {
  /** What happened, in the server's words where possible. */
  message: string
  /** Details and next steps, one line each. */
  hints: string[]
  code: string
  /** HTTP status, 0 without a response. */
  status: number
  /** Of the server or the command, for programs. */
  details?: unknown
  exitCode: number
}

/** The JSON that a failed command prints on stdout with `--json`. */
export function toErrorJson({ message, code, status, hints, details }: ErrorReport) {
  return { error: message, code, status, hint: hints.join('\n'), details }
}

/**
 * Describes an error, with its next steps and the exit code of the program. It names the site that was not found, about
 * which the server says the same whatever the site.
 */
export function describeError(error: unknown, work: CommandContext, caller?: LastRequest): ErrorReport {
  const report = describe(error, work, caller)
  const { site } = caller ?? {}
  return site === undefined || !MISSING_SITE.test(report.message)
    ? report
    : { ...report, message: report.message.replace(MISSING_SITE, `Site ${site} not found`) }
}

const MISSING_SITE = /^Site not found/

/** Whether the error is that the site of a request does not exist, or belongs to another account. */
export function isMissingSite(error: SlipwayError): boolean {
  return error.code === 'NOT_FOUND' && MISSING_SITE.test(error.message)
}

function describe(error: unknown, work: CommandContext, caller: LastRequest | undefined): ErrorReport {
  if (work.signal.aborted && !(error instanceof InterruptedError)) {
    return describeCliError(new InterruptedError('Interrupted'))
  }
  if (error instanceof CliError) return describeCliError(error)
  if (isSlipwayError(error)) {
    const hints = unlessMalformed(
      () => [...formatDetails(error), ...suggestNextSteps(error, work, caller)],
      [],
    )
    const { code, status, details } = error
    return {
      message: formatMessage(error),
      hints,
      code,
      status,
      details,
      exitCode: unlessMalformed(() => exitCodeOf(error), EXIT_CODES.refused),
    }
  }
  const full = isDiskFull(error) ? ['Free space on its disk, then run the same command again.'] : []
  const { code = 'FAILED', hints = full } = (error ?? {}) as NodeJS.ErrnoException & { hints?: string[] }
  const message = systemErrorMessage(error)
  return { message, hints, code, status: 0, exitCode: EXIT_CODES.failed }
}

/** A server may send details in any form: those that cannot be described are left out. */
function unlessMalformed<T>(describe: () => T, otherwise: T): T {
  try {
    return describe()
  } catch {
    return otherwise
  }
}

/** The message; of a rate limit without the time of its reset, which is a hint in local time. */
function formatMessage({ code, message, retryAfterSeconds }: SlipwayError): string {
  const isTimeKnown = code === 'RATE_LIMITED' && retryAfterSeconds !== undefined
  return isTimeKnown ? message.replace(/\. Try again .*/, '') : message
}

function describeCliError({ message, hints, code, status, details, exitCode }: CliError): ErrorReport {
  return { message, hints, code, status, details, exitCode }
}

const AUTH_CODES = new Set([
  'UNAUTHORIZED',
  'INSUFFICIENT_SCOPE',
  'INVALID_ID_TOKEN',
  'NOT_TRUSTED',
  'ACCESS_DENIED',
  'EXPIRED_TOKEN',
  'INVALID_CODE',
  'INVALID_CLAIM_TOKEN',
  'ALREADY_CLAIMED',
  'SIGN_UP_CLOSED',
])
const LIMIT_CODE = /^(RATE_LIMITED|QUOTA_EXCEEDED|.+_LIMIT_REACHED)$/

function exitCodeOf(error: SlipwayError): number {
  const { code, status } = error
  if (AUTH_CODES.has(code)) return EXIT_CODES.auth
  if (isOfOption(error) || code === 'NOT_FOUND') return EXIT_CODES.usage
  if (LIMIT_CODE.test(code)) return EXIT_CODES.limit
  if (code === 'VERSION_CONFLICT') return EXIT_CODES.conflict
  if (code === 'FILE_CHANGED') return EXIT_CODES.failed
  if (status === 413) return EXIT_CODES.refused
  const isUnavailable = status === 0 || status === 408 || status >= 500 || code === 'UPLOAD_EXPIRED'
  return isUnavailable || code === 'BAD_ANSWER' ? EXIT_CODES.network : EXIT_CODES.refused
}

/** Whether the server rejects the value of an option or operand, and no file. */
function isOfOption({ code, details }: SlipwayError): boolean {
  if (code !== 'VALIDATION_ERROR' || !Array.isArray(details) || details.length === 0) return false
  return details.every(({ field }) => !/^(files\b|body$)/.test(String(field)))
}

/** Turns the system's "EACCES: permission denied, open 'x'" into "x: permission denied". */
function systemErrorMessage(error: unknown): string {
  const { message = String(error), code, path } = error as NodeJS.ErrnoException
  const reason = /^E[A-Z]+: ([^,]+),/.exec(message)?.[1]
  return code !== undefined && path !== undefined && reason ? `${path}: ${reason}` : message
}

/** Lists all details of an error whose message names only the first. */
function formatDetails({ code, details }: SlipwayError): string[] {
  if (code === 'VALIDATION_ERROR' && Array.isArray(details) && details.length > 1) {
    return details.map(({ field, message }) => `${field}: ${message}`)
  }
  if (code === 'SECRET_DETECTED') return (details as SecretFinding[]).map(formatSecret)
  const { missing } = (details ?? {}) as { missing?: unknown }
  if (code === 'UPLOADS_MISSING' && Array.isArray(missing)) return [missing.join(', ')]
  return []
}

function formatSecret({ path, line, kind, excerpt, fingerprint }: SecretFinding): string {
  return `${path}:${line}: ${kind} ${excerpt} (fingerprint ${fingerprint})`
}

function suggestConnections(error: SlipwayError): string[] {
  const code = findSystemCode(error.cause) ?? ''
  if (code === 'ERR_PROXY') return ['Check HTTPS_PROXY and HTTP_PROXY. To exclude the server: NO_PROXY=HOST']
  if (/SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/.test(code))
    return ['To trust the certificate authority of the server: NODE_EXTRA_CA_CERTS=FILE.pem']
  if (/^(EPROTO|HPE_|ERR_TLS|ERR_SSL|CERT_)/.test(code))
    return ['Check the URL of the server, such as https: or http:. To use another server: --server URL']
  return [
    'Check that the server is running. To use another server: --server URL',
    'If your connection dropped, run the same command to resume.',
  ]
}

function suggestNextSteps(
  error: SlipwayError,
  work: CommandContext,
  caller: LastRequest | undefined,
): string[] {
  const { program } = work.settings
  const login = caller?.login ?? `${program} login`
  switch (error.code) {
    case 'NETWORK':
      return suggestConnections(error)
    case 'BAD_ANSWER':
      return ['Check that this is the URL of a Slipway server. To use another server: --server URL']
    case 'UNAUTHORIZED':
      return work.settings.key
        ? [
            `Set SLIPWAY_KEY to a valid key of this server. The key of a CI job lasts an hour; other keys: ${program} keys create ci --scope publish`,
          ]
        : [`Sign in: ${login}`]
    case 'INVALID_CODE':
      return [`A code is valid for 10 minutes and works once. Request a new one: ${login}`]
    case 'RATE_LIMITED':
      return rateLimit(error, work.retryPolicy.now(), caller?.hasKey === true ? undefined : login)
    case 'NOT_FOUND':
      return suggestExisting(error, program)
    case 'SITE_EXPIRED':
      return [`Publish a folder as a new site: ${program} publish ./folder --new`]
    case 'UPLOAD_EXPIRED':
      return ['Another command may be uploading the same version. Run the same command again to resume.']
    case 'UPLOADS_MISSING':
    case 'REQUEST_TIMEOUT':
    case 'UNAVAILABLE':
    case 'INTERNAL':
    case 'INSUFFICIENT_STORAGE':
      return ['Run the same command later to resume.']
    case 'VERSION_CONFLICT':
      return [`Another version was published in between. List them: ${program} versions`]
    case 'INVALID_CLAIM_TOKEN':
      return [`If the site was claimed, sign in as its owner: ${login}`]
    case 'DOMAIN_LIMIT_REACHED':
      return [`List your domains: ${program} domains. Remove one: ${program} domains remove DOMAIN`]
    case 'KEY_LIMIT_REACHED':
      return [`Revoke one that you no longer use: ${program} keys revoke NAME`]
    case 'TRUST_LIMIT_REACHED':
      return [`Remove one that you no longer use: ${program} trust remove ID`]
    case 'COLLABORATOR_LIMIT_REACHED':
      return [`Remove one first: ${program} people remove EMAIL`]
    case 'PREVIEW_LIMIT_REACHED':
      return [`Delete one first: ${program} previews delete NAME`]
    case 'OWNER_REQUIRED':
      return [`See who owns the site: ${program} people`]
    case 'ALREADY_CLAIMED':
      return [`Sign in as the owner of the site: ${login}`]
    default:
      return suggestForRefusal(error, program, caller?.hasKey === true ? undefined : login)
  }
}

function suggestExisting(error: SlipwayError, program: string): string[] {
  if (isInTrash(error)) return [`See the trash: ${program} trash. Restore the site: ${program} undelete NAME`]
  if (isMissingSite(error)) return [`List your sites: ${program} sites`]
  return [`List what exists: ${program} sites, ${program} versions, ${program} previews, ${program} domains`]
}

/** Whether the error is that of a site which can be restored. */
export function isInTrash({ details }: SlipwayError): boolean {
  return (details as { deletedUntil?: unknown } | undefined)?.deletedUntil !== undefined
}

/** The hints of the server name requests, which no user of the command sends. `login` is set without a key. */
function suggestForRefusal(
  { code, details, hint }: SlipwayError,
  program: string,
  login: string | undefined,
): string[] {
  switch (code) {
    case 'QUOTA_EXCEEDED':
      // Of a review, or of the account of another owner.
      if (hint !== undefined && !isOwnQuota(details as QuotaDetails | undefined)) return [hint]
      return describeRoom(details as QuotaDetails | undefined, program, login)
    case 'NOT_TRUSTED':
      return suggestTrust(details as JobDetails | undefined, program)
    case 'INSUFFICIENT_SCOPE':
      return [
        `See what your keys permit: ${program} keys. Create another one: ${program} keys create NAME --scope SCOPE`,
      ]
    case 'ACCESS_DENIED':
    case 'EXPIRED_TOKEN':
      return login === undefined ? [] : [`Start again: ${login}`]
    case 'SECRET_DETECTED':
      return [
        'Remove the secrets from the files. Revoke those that were public before.',
        `If one may be public, add: --allow-secret ${quoteArgument((details as SecretFinding[])[0]!.fingerprint)}`,
      ]
    case 'APPROVAL_REQUIRED':
      return [`Ask a reviewer for it, and wait: ${program} feedback --preview NAME --wait`]
    case 'NAME_TAKEN':
      return ['Choose another name with --name.']
    case 'DOMAIN_TAKEN':
      return ['Remove the domain from that site first, or choose another domain.']
    case 'VERSION_LIVE':
      return [`Make another version live first: ${program} restore VERSION`]
    case 'SITE_PENDING':
      return [`Publish the site first: ${program} publish`]
    case 'DOMAINS_UNAVAILABLE':
    case 'SITE_SUSPENDED':
    case 'ACCOUNT_SUSPENDED':
    case 'BLOCKED':
    case 'CONTENT_REFUSED':
    case 'SIGN_UP_CLOSED':
      // These name what a person does, and no request.
      return hint === undefined ? [] : [hint]
    case 'PAYLOAD_TOO_LARGE':
      return [
        'Publish fewer or smaller files.',
        ...(login === undefined ? [] : [`Sign in for higher limits: ${login}`]),
      ]
    default:
      return []
  }
}

/** What the server says about a job that no trust is for. */
interface JobDetails {
  forge: string
  repository: string
  site: string | null
  branch?: string
  tag?: string
  pullRequest?: string
  mergeQueue?: string
}

function suggestTrust(job: JobDetails | undefined, program: string): string[] {
  if (!job) return []
  const { forge, repository, site, branch, tag, pullRequest, mergeQueue } = job
  const rule =
    branch !== undefined
      ? `--branch ${quoteArgument(branch)}`
      : tag !== undefined
        ? `--tag ${quoteArgument(tag)}`
        : (pullRequest ?? mergeQueue) !== undefined
          ? '--pull-requests'
          : undefined
  if (rule === undefined) return ['Publish in a job of a push, a release or a schedule.']
  const command = `${program} trust ${quoteArgument(forge)} ${quoteArgument(repository)} --site ${quoteArgument(site ?? 'SITE')} ${rule}`
  return [`To trust it, run on a signed-in machine: ${command}`]
}

/** Whether the user, or the network without an account, holds what counts. */
function isOwnQuota(details: QuotaDetails | undefined): boolean {
  return details !== undefined && (!details.quota.startsWith('account') || details.trashedSites !== undefined)
}

/** How the user frees what counts against a quota. */
function describeRoom(
  details: QuotaDetails | undefined,
  program: string,
  login: string | undefined,
): string[] {
  if (!details?.quota.startsWith('account'))
    return login === undefined ? [] : [`Sign in to publish to an account: ${login}`]
  const { trashedSites = 0, pendingVersions = 0 } = details
  return [
    `Delete what you no longer need: ${program} delete --site NAME, ${program} versions, ${program} previews`,
    ...(trashedSites > 0 ? [`${pluralize(trashedSites, 'site')} in the trash: ${program} trash`] : []),
    ...(pendingVersions > 0
      ? [`${pluralize(pendingVersions, 'unfinished upload')}, deleted a day after their start`]
      : []),
  ]
}

function rateLimit({ retryAfterSeconds }: SlipwayError, now: number, login: string | undefined): string[] {
  const account = login === undefined ? [] : [`Sign in for a higher limit: ${login}`]
  if (retryAfterSeconds === undefined) return account
  const reset = formatLocalTime(new Date(now + retryAfterSeconds * 1000).toISOString(), now)
  return [`Try again in ${formatDuration(retryAfterSeconds)} (${reset}). Your sites stay online.`, ...account]
}
