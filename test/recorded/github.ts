import type { JWTPayload } from 'jose'

// What GitHub puts into the tokens of jobs, one entry for each event, from tokens that others have published. Where only
// some claims of an event are public, the entry has these, and the others are those of the token of the push.

/** Claims of a token of a job, and where they were published. */
export interface RecordedToken {
  source: string
  claims: JWTPayload
}

const MERGED = 'DataDog/synthetics-ci-github-action#376 and DataDog/pup#519: claims of merged pull requests'
const EVENTS = 'GitHub Docs, "Events that trigger workflows": GITHUB_REF of each event'

/** A push to a branch, in August 2026. */
const PUSH = {
  actor: 'andreaso',
  actor_id: '285964',
  base_ref: '',
  check_run_id: '96193868770',
  event_name: 'push',
  head_ref: '',
  job_workflow_ref:
    'andreaso/actions-tester/.github/workflows/claims.yaml@refs/heads/test-output-oidc-claims-action',
  job_workflow_sha: 'b8962f4eaff8e14fc646cb22c596c81e67d71362',
  ref: 'refs/heads/test-output-oidc-claims-action',
  ref_protected: 'false',
  ref_type: 'branch',
  repository: 'andreaso/actions-tester',
  repository_id: '1339936803',
  repository_owner: 'andreaso',
  repository_owner_id: '285964',
  repository_visibility: 'private',
  run_attempt: '1',
  run_id: '32291736541',
  run_number: '1',
  runner_environment: 'github-hosted',
  sha: 'b8962f4eaff8e14fc646cb22c596c81e67d71362',
  sub: 'repo:andreaso@285964/actions-tester@1339936803:ref:refs/heads/test-output-oidc-claims-action',
  workflow: 'Test andreaso/output-oidc-claims-action',
  workflow_ref:
    'andreaso/actions-tester/.github/workflows/claims.yaml@refs/heads/test-output-oidc-claims-action',
  workflow_sha: 'b8962f4eaff8e14fc646cb22c596c81e67d71362',
}

const REPOSITORY = 'repo:andreaso@285964/actions-tester@1339936803'

/** The token of the push with the claims that another event changes. */
function token(source: string, changes: { ref: string; [claim: string]: string }): RecordedToken {
  const at = `andreaso/actions-tester/.github/workflows/claims.yaml@${changes.ref}`
  return { source, claims: { ...PUSH, job_workflow_ref: at, workflow_ref: at, ...changes } }
}

const main = (event_name: string, source = EVENTS) =>
  token(source, { event_name, ref: 'refs/heads/main', sub: `${REPOSITORY}:ref:refs/heads/main` })

const PULL_REQUEST = {
  ...{ event_name: 'pull_request', head_ref: 'two-tokens', base_ref: 'main' },
  sub: `${REPOSITORY}:pull_request`,
}

const opened = token('pypi/warehouse#10645: a job of a pull request', {
  ...{ ...PULL_REQUEST, ref: 'refs/pull/4/merge' },
})

export const GITHUB_TOKENS = {
  push: { source: 'andreaso/output-oidc-claims-action, README.md', claims: PUSH },
  'push of a tag': token('GitHub Docs, "OpenID Connect reference": subject of a tag', {
    ...{ event_name: 'push', ref: 'refs/tags/demo-tag', ref_type: 'tag' },
    sub: `${REPOSITORY}:ref:refs/tags/demo-tag`,
  }),
  'push in an environment': token('pypi/warehouse#10645: a job in the environment test', {
    ...{ event_name: 'push', ref: 'refs/heads/main', environment: 'test' },
    sub: `${REPOSITORY}:environment:test`,
  }),
  'pull request opened': opened,
  'pull request synchronized': opened,
  'pull request merged': token(MERGED, {
    ...{ ...PULL_REQUEST, ref: 'refs/heads/main', ref_protected: 'true' },
  }),
  'pull request closed': opened,
  'pull request of a fork, with its code at the base': token(
    'kyma-project/test-infra#9976: ref of pull_request_target',
    { event_name: 'pull_request_target', ref: 'refs/heads/main', sub: `${REPOSITORY}:pull_request` },
  ),
  'merge queue': token('googleapis/repo-automation-bots#5322: branch of a merge queue', {
    event_name: 'merge_group',
    ref: 'refs/heads/gh-readonly-queue/main/pr-42-f4fd989828677e72f1bdfee557636db67af25f5f',
  }),
  schedule: main('schedule'),
  dispatch: main('workflow_dispatch'),
  'reusable workflow': token('GitHub Docs, "OpenID Connect reference": example of a token', {
    ...{ event_name: 'workflow_dispatch', ref: 'refs/heads/main', environment: 'prod' },
    job_workflow_ref: 'octo-org/octo-automation/.github/workflows/oidc.yml@refs/heads/main',
  }),
  release: token(EVENTS, { event_name: 'release', ref: 'refs/tags/v1', ref_type: 'tag' }),
  workflow_run: main('workflow_run'),
  check_run: main('check_run'),
  deployment_status: main('deployment_status'),
  issue_comment: main('issue_comment'),
  create: main('create'),
} satisfies Record<string, RecordedToken>

const WEBHOOKS = 'octokit/webhooks, payload-examples/api.github.com'

const pull = (action: string, changes: object = {}) => ({
  action,
  number: 2,
  pull_request: {
    ...{ number: 2, state: 'open', merged: false, ...changes },
    head: {
      ...{ label: 'Codertocat:changes', ref: 'changes', sha: 'ec26c3e57ca3a959ca5aad62de7213c562f8c821' },
      repo: { full_name: 'Codertocat/Hello-World', fork: false },
    },
    base: { label: 'Codertocat:master', ref: 'master', sha: 'f95f852bd8fca8fcc58a9a2d6c842781e32a215e' },
  },
})

/** The parts of the payloads of events that jobs read, in the file that `GITHUB_EVENT_PATH` names. */
export const GITHUB_EVENTS = {
  push: { source: `${WEBHOOKS}/push/payload.json`, payload: { ref: 'refs/heads/main', forced: false } },
  'pull request opened': { source: `${WEBHOOKS}/pull_request/opened.payload.json`, payload: pull('opened') },
  'pull request synchronized': {
    ...{ source: `${WEBHOOKS}/pull_request/synchronize.payload.json`, payload: pull('synchronize') },
  },
  'pull request closed': {
    source: `${WEBHOOKS}/pull_request/closed.payload.json`,
    payload: pull('closed', { state: 'closed' }),
  },
  'pull request merged': {
    source: `${WEBHOOKS}/pull_request/closed.payload.json; GitHub Docs: merged is true`,
    payload: pull('closed', { state: 'closed', merged: true }),
  },
  'merge queue': {
    source: `${WEBHOOKS}/merge_group/checks_requested.payload.json`,
    payload: {
      action: 'checks_requested',
      merge_group: {
        head_sha: '2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d',
        head_ref: 'refs/heads/gh-readonly-queue/main/pr-104-929f8209d40f77f4abc622a499c93a83babdbe64',
        base_ref: 'refs/heads/main',
      },
    },
  },
}
