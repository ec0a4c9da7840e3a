import type { RecordedToken } from './github.ts'

// What GitLab puts into the tokens of jobs, from payloads that GitLab has published.

/** A pipeline of a branch. */
const PUSH = {
  namespace_id: '22',
  namespace_path: 'gitlab-org',
  project_id: '2',
  project_path: 'gitlab-org/gitlab-shell',
  user_id: '1',
  user_login: 'root',
  user_email: 'admin@example.com',
  pipeline_id: '13',
  pipeline_source: 'push',
  job_id: '208',
  ref: 'memory-limit',
  ref_type: 'branch',
  ref_path: 'refs/heads/memory-limit',
  ref_protected: '',
  runner_id: null,
  runner_environment: null,
  sha: '4e9b7dbc7e42626ca4f4676ad91f17951f97af9a',
  ci_config_ref_uri: 'gitlab.localdev:3000/gitlab-org/gitlab-shell//.gitlab-ci.yml@refs/heads/memory-limit',
  sub: 'project_path:gitlab-org/gitlab-shell:ref_type:branch:ref:memory-limit',
}

const DOCS = 'GitLab Docs, "OpenID Connect (OIDC) Authentication Using ID Tokens", token payload'

const inEnvironment = (environment_protected: string) => ({
  source: DOCS,
  claims: { ...PUSH, environment: 'test-environment2', environment_protected, deployment_tier: 'testing' },
})

export const GITLAB_TOKENS = {
  push: { source: 'gitlab-org/gitlab!122373', claims: PUSH },
  tag: {
    source: DOCS,
    claims: { ...PUSH, ref: 'v1', ref_type: 'tag', ref_path: 'refs/tags/v1' },
  },
  'merge request': {
    source: DOCS,
    claims: { ...PUSH, pipeline_source: 'merge_request_event', ref_path: 'refs/merge-requests/1/head' },
  },
  schedule: { source: DOCS, claims: { ...PUSH, pipeline_source: 'schedule' } },
  environment: inEnvironment('false'),
  'protected environment': inEnvironment('true'),
} satisfies Record<string, RecordedToken>
