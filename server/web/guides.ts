export interface Guide {
  /** The last part of its path, and the name of its file in `docs/` unless the build generates it. */
  name: string
  title: string
  about: string
}

/** The pages of `/docs` by task, in the order of the contents, the overview and `llms.txt`. */
export const GUIDES: readonly (readonly [task: string, guides: readonly Guide[]])[] = [
  [
    'Publish',
    [
      {
        name: 'publish',
        title: 'Publishing',
        about: 'from a terminal, in a browser, with curl, and from a program',
      },
      {
        name: 'frameworks',
        title: 'Frameworks',
        about: 'what to publish of Vite, Next.js, Astro, Hugo and others',
      },
      { name: 'command', title: 'The command', about: 'every command, scripts, exit codes and stored state' },
      {
        name: 'http',
        title: 'The HTTP API',
        about: 'uploads, archives, updates, limits and requests with curl',
      },
      { name: 'agents', title: 'Agents', about: 'the tools of the Model Context Protocol' },
      {
        name: 'ci',
        title: 'Continuous integration',
        about: 'GitHub Actions and GitLab CI without a stored secret',
      },
    ],
  ],
  [
    'Your sites',
    [
      {
        name: 'serving',
        title: 'What visitors get',
        about: 'paths, types, caching, redirects, headers and passwords',
      },
      { name: 'versions', title: 'Versions and previews', about: 'drafts, previews, restoring and warnings' },
      { name: 'review', title: 'Reviews', about: 'comments on places of a page, and approvals' },
      { name: 'sites', title: 'Managing sites', about: 'names, collaborators, deletion and visits' },
      { name: 'domains', title: 'Domains', about: 'serving a site at your own domain with HTTPS' },
      { name: 'account', title: 'Your account', about: 'keys, sign-in, limits and deletion' },
    ],
  ],
  [
    'Reference',
    [
      { name: 'api', title: 'API reference', about: 'every operation with its fields and an example' },
      { name: 'errors', title: 'Errors', about: 'every error code and what to do' },
      { name: 'glossary', title: 'Glossary', about: 'the terms of these pages' },
    ],
  ],
  [
    'Run a server',
    [
      { name: 'run', title: 'Running a server', about: 'proxies, email, upgrades and troubleshooting' },
      { name: 'settings', title: 'Settings', about: 'every setting with its default' },
      { name: 'limits', title: 'Limits', about: 'the settings of requests, plans, sites and memory' },
      {
        name: 'operate',
        title: 'Operating a server',
        about: 'administrators, branding, abuse and the audit log',
      },
      { name: 'https', title: 'HTTPS', about: 'certificates for the service, its sites and custom domains' },
      { name: 'plans', title: 'Plans', about: 'quotas, sign-up and anonymous publishing' },
      {
        name: 'incidents',
        title: 'Incidents',
        about: 'what the log and the alerts say when something fails, and what to do',
      },
      { name: 'monitoring', title: 'Monitoring', about: 'metrics, alerts, logs, memory and sweeps' },
      { name: 'security', title: 'Security', about: 'the threat model, guarantees and known limits' },
    ],
  ],
]
