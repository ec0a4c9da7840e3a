import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { SHORT_ID_LENGTH } from '../../protocol/format.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { RefusedError, UnknownNameError, UsageError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { choose } from './terminal/choose.ts'
import { formatLocalTime } from './terminal/time.ts'

/** Length of a whole version id. */
const ID_LENGTH = 26

/**
 * The version whose id begins with `typed`, in any case; on a terminal without it the version that is picked from the
 * list. Throws a UsageError when no version or several match.
 */
export async function resolveVersionId(
  work: CommandContext,
  slipway: Slipway,
  { slug, typed }: { slug: string; typed: string | undefined },
): Promise<string> {
  if (typed?.length === ID_LENGTH) return typed.toLowerCase()
  assertNamed(work, typed)
  return findVersionId(work, (await slipway.versions(slug)).versions, typed)
}

/** Throws a UsageError without a version where there is no list to choose from. */
export function assertNamed({ terminal, settings }: CommandContext, typed: string | undefined): void {
  if (typed === undefined && !terminal.interactive)
    throw new UsageError('Name a version', listThem(settings.program))
}

/** The same among these versions. */
export async function findVersionId(
  work: CommandContext,
  versions: VersionSummary[],
  typed: string | undefined,
): Promise<string> {
  const prefix = typed?.toLowerCase()
  if (prefix?.length === ID_LENGTH) return prefix
  if (prefix === undefined) return pickVersion(work, versions)
  const see = listThem(work.settings.program)
  const matches = versions.filter(({ versionId }) => versionId.startsWith(prefix))
  const [match, ...others] = matches
  if (match && others.length === 0) return match.versionId
  const name = typed!
  if (!match) throw new UnknownNameError(`No version starts with ${name}`, see)
  const list = matches.map(({ versionId }) => versionId)
  throw new UsageError(`Several versions start with ${name}`, 'Name one:', ...list)
}

/** The version whose id begins with `typed`, otherwise the live one. Throws a RefusedError without a live version. */
export async function resolveVersionOrLive(
  work: CommandContext,
  slipway: Slipway,
  { slug, typed }: { slug: string; typed: string | undefined },
): Promise<string> {
  if (typed !== undefined) return resolveVersionId(work, slipway, { slug, typed })
  const { currentVersionId } = await slipway.details(slug)
  if (currentVersionId === null) throw new RefusedError(`${slug} has no live version`)
  return currentVersionId
}

/** How a command names a version: by its time, and by the start of its id, which is unique among `versions`. */
export function describeVersion(
  versionId: string,
  now: number,
  versions: readonly Pick<VersionSummary, 'versionId' | 'createdAt'>[],
): string {
  const id = versionId.slice(0, shortLength(versions))
  const found = versions.find((version) => version.versionId === versionId)
  return found ? `the version of ${formatLocalTime(found.createdAt, now)} (${id})` : `version ${id}`
}

function listThem(program: string): string {
  return `List them: ${program} versions`
}

/** How many characters of the ids differ from those of all others. */
export function shortLength(versions: readonly Pick<VersionSummary, 'versionId'>[]): number {
  const sorted = versions.map(({ versionId }) => versionId).sort()
  const shared = sorted.slice(1).map((id, at) => {
    const before = sorted[at]!
    let length = 0
    while (length < id.length && id[length] === before[length]) length++
    return length + 1
  })
  return Math.max(SHORT_ID_LENGTH, ...shared)
}

async function pickVersion(
  { terminal, retryPolicy }: CommandContext,
  versions: VersionSummary[],
): Promise<string> {
  const others = versions.filter(({ current }) => !current)
  if (others.length === 0) throw new RefusedError('There is no other version')
  return choose(
    terminal,
    'Which version?',
    others.map(({ versionId, createdAt, publishedAt }) => {
      const draft = publishedAt === null ? ', draft' : ''
      const id = versionId.slice(0, shortLength(versions))
      return [versionId, `${formatLocalTime(createdAt, retryPolicy.now())}  ${id}${draft}`]
    }),
  )
}
