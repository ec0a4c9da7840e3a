export interface Guide {
  /** The last part of its path, and the name of its file in `docs/` unless the build generates it. */
  name: string
  title: string
  about: string
}

const TABLE: Record<string, readonly (readonly [name: string, title: string, about: string])[]> = {
  Publish: [
    ['publish', 'Publishing', 'from a terminal, in a browser, with curl, and from a program'],
    ['frameworks', 'Frameworks', 'what to publish of Vite, Next.js, Astro, Hugo and others'],
    ['command', 'The command', 'every command, scripts, exit codes and stored state'],
    ['http', 'The HTTP API', 'uploads, archives, updates, limits and requests with curl'],
    ['agents', 'Agents', 'the tools of the Model Context Protocol'],
    ['ci', 'Continuous integration', 'GitHub Actions and GitLab CI without a stored secret'],
  ],
  'Your sites': [
    ['serving', 'What visitors get', 'paths, types, caching, redirects, headers and passwords'],
    ['versions', 'Versions and previews', 'drafts, previews, restoring and warnings'],
    ['review', 'Reviews', 'comments on places of a page, and approvals'],
    ['sites', 'Managing sites', 'names, collaborators, deletion and visits'],
    ['domains', 'Domains', 'serving a site at your own domain with HTTPS'],
    ['account', 'Your account', 'keys, sign-in, limits and deletion'],
  ],
  Reference: [
    ['api', 'API reference', 'every operation with its fields and an example'],
    ['errors', 'Errors', 'every error code and what to do'],
    ['glossary', 'Glossary', 'the terms of these pages'],
  ],
  'Run a server': [
    ['run', 'Running a server', 'proxies, email, upgrades and troubleshooting'],
    ['settings', 'Settings', 'every setting with its default'],
    ['limits', 'Limits', 'the settings of requests, plans, sites and memory'],
    ['operate', 'Operating a server', 'administrators, branding, abuse and the audit log'],
    ['https', 'HTTPS', 'certificates for the service, its sites and custom domains'],
    ['plans', 'Plans', 'quotas, sign-up and anonymous publishing'],
    ['incidents', 'Incidents', 'what the log says when something fails, and what to do'],
    ['alerts', 'Alerts of metrics', 'the alert rules for Prometheus that are not of an incident'],
    ['backup', 'Backup', 'backup, restore, upgrade and the packages for Linux'],
    ['monitoring', 'Monitoring', 'metrics, alerts, logs, memory and sweeps'],
    ['security', 'Security', 'the threat model, guarantees and known limits'],
  ],
}

/** The pages of `/docs` by task, in the order of the contents, the overview and `llms.txt`. */
export const GUIDES: readonly (readonly [task: string, guides: readonly Guide[]])[] = Object.entries(
  TABLE,
).map(([task, rows]) => [task, rows.map(([name, title, about]) => ({ name, title, about }))])
