import type { Forge, TrustRules } from '../../../protocol/api/trusts.ts'

/** The job that a token was issued for. */
export interface Job {
  /** In lower case. */
  repository: string
  repositoryId: string
  ref: { kind: 'branch' | 'tag' | 'pull request'; name: string }
  environment: string | null
}

type Claims = Readonly<Record<string, unknown>>

/**
 * Events that run a workflow for a ref of the repository itself, by GitHub's `event_name`. Others can be caused by
 * accounts without access, such as `pull_request_target`, which runs for pull requests of forks.
 */
const BRANCH_EVENTS = new Set([
  ...['push', 'workflow_dispatch', 'schedule', 'release'],
  ...['repository_dispatch', 'deployment', 'merge_group'],
])

/** The job of a verified token; undefined for one that no rule can be for. */
export function readJob(forge: Forge, claims: Claims): Job | undefined {
  return forge === 'github' ? readGitHubJob(claims) : readGitLabJob(claims)
}

/**
 * Whether a rule is for a job. Without a branch and a tag, a rule with an environment is for every ref of the
 * repository.
 */
export function matchesRules(rules: TrustRules, { ref, environment }: Job): boolean {
  const { branch, tag, pullRequests } = rules
  if (rules.environment !== null && rules.environment !== environment) return false
  if (ref.kind === 'pull request') return pullRequests
  if (branch === null && tag === null) return rules.environment !== null
  const pattern = ref.kind === 'branch' ? branch : tag
  return pattern !== null && matchesName(pattern, ref.name)
}

function matchesName(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

/** GitHub sends no token to jobs of pull requests of forks, unless the owner of a private repository permits it. */
function readGitHubJob(claims: Claims): Job | undefined {
  const { repository, repository_id: id, ref, environment, event_name: event } = claims
  if (typeof event !== 'string') return undefined
  const kinds = event === 'pull_request' ? PULL_REQUESTS : BRANCH_EVENTS.has(event) ? BRANCHES : []
  return toJob({ repository, id, environment }, findRef(ref, kinds))
}

/**
 * `ref` is the name of the source branch in pipelines of merge requests, also of forks: only `ref_path` distinguishes
 * them from those of a branch.
 */
function readGitLabJob(claims: Claims): Job | undefined {
  const { project_path: repository, project_id: id, ref_path: ref, environment } = claims
  return toJob({ repository, id, environment }, findRef(ref, [...BRANCHES, ...PULL_REQUESTS]))
}

type RefKind = readonly [prefix: string, kind: Job['ref']['kind']]

const BRANCHES: readonly RefKind[] = [
  ['refs/heads/', 'branch'],
  ['refs/tags/', 'tag'],
]

const PULL_REQUESTS: readonly RefKind[] = [
  ['refs/pull/', 'pull request'],
  ['refs/merge-requests/', 'pull request'],
]

function findRef(ref: unknown, kinds: readonly RefKind[]): Job['ref'] | undefined {
  if (typeof ref !== 'string') return undefined
  const found = kinds.find(([prefix]) => ref.startsWith(prefix))
  return found && { kind: found[1], name: ref.slice(found[0].length) }
}

function toJob(
  { repository, id, environment }: Record<'repository' | 'id' | 'environment', unknown>,
  ref: Job['ref'] | undefined,
): Job | undefined {
  const repositoryId = typeof id === 'number' ? String(id) : id
  if (typeof repository !== 'string' || typeof repositoryId !== 'string' || !ref) return undefined
  return {
    repository: repository.toLowerCase(),
    repositoryId,
    ref,
    environment: typeof environment === 'string' ? environment : null,
  }
}
