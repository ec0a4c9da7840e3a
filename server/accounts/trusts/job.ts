import type { TrustRules } from '../../../protocol/api/trusts.schema.ts'
import type { Forge } from '../../../protocol/api/trusts.ts'

export interface Job {
  forge: Forge
  /** In lower case. */
  repository: string
  repositoryId: string
  /** In the words of the forge: `push`, `pull_request`. */
  event: string
  ref: JobRef
  environment: string | null
  /** Whether the forge restricts which jobs may use the environment. GitHub does not say, and counts as if it did. */
  isProtected: boolean
  /** Its file in the repository, such as `.github/workflows/deploy.yml`. */
  workflow: string | null
}

/** `other` is an event that no rule can be for. */
export interface JobRef {
  kind: 'branch' | 'tag' | 'pull request' | 'merge queue' | 'other'
  name: string
}

type Claims = Readonly<Record<string, unknown>>

/**
 * Events that run a workflow for a ref of the repository itself, by GitHub's `event_name`. Others can be caused by
 * accounts without access, such as `pull_request_target` and `workflow_run`, which run for pull requests of forks.
 */
const BRANCH_EVENTS = new Set([
  ...['push', 'workflow_dispatch', 'schedule', 'release'],
  ...['repository_dispatch', 'deployment', 'merge_group'],
])

/** Branches of the merge queue of GitHub, whose state is not merged yet. */
const QUEUE_PREFIX = 'gh-readonly-queue/'

/** Undefined for a token that is not of a repository. */
export function readJob(forge: Forge, claims: Claims): Job | undefined {
  return forge === 'github' ? readGitHubJob(claims) : readGitLabJob(claims)
}

/** Where the forge protects an environment, a rule for it needs no branch or tag. */
export function matchesRules(rules: TrustRules, job: Job): boolean {
  const { branch, tag, pullRequests } = rules
  const { kind, name } = job.ref
  if (rules.workflow !== null && rules.workflow !== job.workflow) return false
  // Forges compare names of environments without case.
  if (rules.environment !== null && rules.environment.toLowerCase() !== job.environment?.toLowerCase())
    return false
  if (kind === 'other') return false
  if (kind === 'pull request') return pullRequests
  if (kind === 'merge queue') return pullRequests || (branch !== null && matchesName(branch, name))
  if (branch === null && tag === null) return rules.environment !== null && job.isProtected
  const pattern = kind === 'branch' ? branch : tag
  return pattern !== null && matchesName(pattern, name)
}

function matchesName(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

/** GitHub sends no token to jobs of pull requests of forks, unless the owner of a private repository permits it. */
function readGitHubJob(claims: Claims): Job | undefined {
  const { repository, repository_id: id, event_name: event, environment, workflow_ref: workflow } = claims
  return toJob({
    ...{ forge: 'github', repository, id, event, environment, isProtected: true },
    ref: typeof event === 'string' ? readGitHubRef(event, claims) : undefined,
    workflow: readPath(workflow, `${repository}/`),
  })
}

/** The `ref` of a merged pull request is that of the branch that it was merged into: only the event differs. */
function readGitHubRef(event: string, { ref, head_ref: head }: Claims): JobRef {
  if (event === 'pull_request')
    return {
      kind: 'pull request',
      name: /^refs\/pull\/(\d+)\//.exec(String(ref))?.[1] ?? String(head || ref),
    }
  const found = BRANCH_EVENTS.has(event) ? findRef(ref, BRANCHES) : undefined
  if (found && (event === 'merge_group' || found.name.startsWith(QUEUE_PREFIX)))
    return { kind: 'merge queue', name: found.name }
  return found ?? { kind: 'other', name: event }
}

/** Pipelines of merge requests, also of forks, have the source branch in `ref`: only `ref_path` distinguishes them. */
function readGitLabJob(claims: Claims): Job | undefined {
  const { project_path: repository, project_id: id, pipeline_source: event = 'unknown' } = claims
  const { ref_path: path, environment, ci_config_ref_uri: workflow, iss } = claims
  const host = URL.canParse(String(iss)) ? new URL(String(iss)).host : ''
  return toJob({
    ...{ forge: 'gitlab', repository, id, event, environment },
    isProtected: claims.environment_protected === 'true',
    ref: findRef(path, [...BRANCHES, ...MERGE_REQUESTS]) ?? { kind: 'other', name: String(event) },
    workflow: readPath(workflow, `${host}/${repository}//`),
  })
}

/**
 * The address has the path between `before` and the last `@`. Null for a file of another repository. A ref with an `@`
 * leaves a part of it in the path, which then matches no rule.
 */
function readPath(address: unknown, before: string): string | null {
  if (typeof address !== 'string' || !address.toLowerCase().startsWith(before.toLowerCase())) return null
  const end = address.lastIndexOf('@')
  return end < before.length ? null : address.slice(before.length, end)
}

type RefKind = readonly [prefix: string, kind: JobRef['kind']]

const BRANCHES: readonly RefKind[] = [
  ['refs/heads/', 'branch'],
  ['refs/tags/', 'tag'],
]

const MERGE_REQUESTS: readonly RefKind[] = [['refs/merge-requests/', 'pull request']]

function findRef(ref: unknown, kinds: readonly RefKind[]): JobRef | undefined {
  if (typeof ref !== 'string') return undefined
  const found = kinds.find(([prefix]) => ref.startsWith(prefix))
  return found && { kind: found[1], name: ref.slice(found[0].length) }
}

interface FoundJob
  extends Pick<Job, 'forge' | 'isProtected' | 'workflow'>,
    Record<'repository' | 'id' | 'event' | 'environment', unknown> {
  ref: JobRef | undefined
}

function toJob({ repository, id, event, ref, environment, ...rest }: FoundJob): Job | undefined {
  const repositoryId = typeof id === 'number' ? String(id) : id
  if (typeof repository !== 'string' || typeof repositoryId !== 'string') return undefined
  if (typeof event !== 'string' || !ref) return undefined
  return {
    ...{ ...rest, repositoryId, event, ref },
    repository: repository.toLowerCase(),
    environment: typeof environment === 'string' ? environment : null,
  }
}
