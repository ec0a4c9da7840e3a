import { agentText } from '../../protocol/agent-text.ts'
import type { PageSettings } from '../../protocol/api/page-settings.ts'
import { legalLinks } from '../../protocol/branding.ts'
import { npxCommand } from '../../protocol/client-package.ts'
import { formatDuration, pluralize, UNLIMITED } from '../../protocol/format.ts'
import { parseWeights } from '../edge/respond/negotiation.ts'
import { GUIDES } from './guides.ts'
import { type StaticFile, staticFile } from './static-file.ts'

interface AgentFilesOptions {
  settings: PageSettings
  clock: () => number
}

/** Points programs to the description of the API (RFC 8288, RFC 8631, RFC 9727). */
export const SERVICE_LINKS = [
  '</api/openapi.json>; rel="service-desc"; type="application/json"',
  '</docs>; rel="service-doc"; type="text/html"',
  '</llms.txt>; rel="describedby"; type="text/plain"',
  '</.well-known/api-catalog>; rel="api-catalog"',
].join(', ')

const TEXT = 'text/plain; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'

/** Files by which programs find the API and how to use it, by path; `/` is the front page, `/docs` the guides. */
export function agentFiles(options: AgentFilesOptions): ReadonlyMap<string, StaticFile> {
  const { settings, clock } = options
  const { baseUrl } = settings
  const text = instructions(settings)
  const recipe = uploadRecipe(options)
  const overview = llmsText(settings, text + recipe)
  const files: [path: string, type: string, content: string][] = [
    ['/', TEXT, frontPage(settings, recipe)],
    ['/docs', MARKDOWN, overview],
    ['/llms.txt', TEXT, overview],
    ['/skill.md', MARKDOWN, skill(settings, text)],
    ['/robots.txt', TEXT, 'User-agent: *\nAllow: /api/openapi.json\nDisallow: /api/\n'],
    ['/.well-known/api-catalog', CATALOG_TYPE, JSON.stringify(apiCatalog(baseUrl))],
    ['/.well-known/mcp/server-card.json', 'application/json', JSON.stringify(serverCard(settings))],
  ]
  return new Map(
    files.map(([path, type, content]) => [
      path,
      staticFile({ path, type, bytes: Buffer.from(content), modifiedAt: clock() }),
    ]),
  )
}

export function instructions(settings: PageSettings): string {
  const { baseUrl, branding, anonymousLifetime, anonymousPublishing: isAnonymous } = settings
  return agentText({ name: branding.name, baseUrl, lifetime: formatDuration(anonymousLifetime), isAnonymous })
}

/**
 * Whether the front page is sent as text: to a client that accepts text or JSON and not HTML, and to one that accepts
 * anything and no compression, as curl does. Browsers and crawlers get HTML.
 */
export function prefersText(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  const accept = String(headers.accept ?? 'text/html')
  if (accept.includes('text/html')) return false
  const coding = headers['accept-encoding'] ?? 'identity'
  return /text\/(plain|markdown)|application\/json/.test(accept) || coding === 'identity'
}

/** Sends Markdown to a client that accepts it at least as much as HTML (RFC 9110, 12.5.1). */
export function prefersMarkdown(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  const weights = parseWeights(String(headers.accept ?? ''))
  const markdown = weights.get('text/markdown') ?? 0
  return markdown > 0 && markdown >= (weights.get('text/html') ?? 0)
}

function uploadRecipe({ settings }: AgentFilesOptions): string {
  const { baseUrl, anonymousLifetime, anonymousRequests, anonymousPublishing } = settings
  if (!anonymousPublishing)
    return `
Publish a zip, tar, tar.gz or HTML file with an API key; the first line of the response is the URL of the site:
  curl -T site.zip -H 'Authorization: Bearer KEY' ${baseUrl}

Get a key (Node.js 18.18 or later):
  ${npxCommand(baseUrl)} login --print-key --key-name agent
`
  const limit =
    anonymousRequests === UNLIMITED
      ? ''
      : ` The limit is ${pluralize(anonymousRequests, 'request')} per hour.`
  return `
Publish a zip, tar, tar.gz or HTML file; the first line of the response is the URL of the site:
  curl -T site.zip ${baseUrl}

Without an account, a site expires after ${formatDuration(anonymousLifetime)}.${limit}
The response has the link that keeps the site, which its user opens, and the command that updates it, with its claim
token. SLUG is the first part of its host name. The token also deletes the site:
  curl -X DELETE -H 'X-Slipway-Claim-Token: TOKEN' ${baseUrl}/api/v1/publish/SLUG
Or get the slug, the token and the link as JSON; excluded lists the files that were not published, such as .env:
  curl -T site.zip -H 'Accept: application/json' ${baseUrl}
`
}

function frontPage({ baseUrl, branding, anonymousPublishing }: PageSettings, recipe: string): string {
  const needed = anonymousPublishing ? 'No account is needed.' : 'Sign in to publish.'
  const key = anonymousPublishing ? '' : " -H 'Authorization: Bearer KEY'"
  return `${branding.name} publishes static sites. ${needed}
${recipe}
Publish a folder (Node.js 18.18 or later):
  ${npxCommand(baseUrl)} publish ./folder

Publish a folder without Node.js:
  curl -fsSL ${baseUrl}/publish.sh | ${anonymousPublishing ? '' : 'SLIPWAY_KEY=KEY '}sh -s ./folder

Publish text:
  curl ${baseUrl}/api/v1/publish -H 'Content-Type: application/json'${key} \\
    -d '{"files": [{"path": "index.html", "content": "<h1>Hello</h1>"}]}'

For coding agents:  ${baseUrl}/llms.txt
Documentation:      ${baseUrl}/docs
OpenAPI document:   ${baseUrl}/api/openapi.json
`
}

/** In the format of https://llmstxt.org. */
function llmsText({ baseUrl, branding }: PageSettings, text: string): string {
  const links = legalLinks(branding).map(({ label, url }) => `- [${label}](${url})\n`)
  const guides = GUIDES.flatMap(([, pages]) => pages).map(({ name, title, about }) => {
    const url = name === 'api' ? `${baseUrl}/docs/api` : `${baseUrl}/docs/${name}.md`
    return `- [${title}](${url}): ${about}\n`
  })
  return `# ${branding.name}

> A publishing service for static sites: send files, get a live URL.

${text}
## Documentation

${guides.join('')}- [All guides in one file](${baseUrl}/llms-full.txt); the instructions above as a [skill](${baseUrl}/skill.md)
- [OpenAPI document](${baseUrl}/api/openapi.json): every operation with schemas and examples
- MCP: ${baseUrl}/mcp; at ${baseUrl}/mcp/account, a client signs in when it connects
${links.join('')}`
}

/** In the format of agent skills: a front matter with name and description. */
function skill({ baseUrl, branding, anonymousPublishing }: PageSettings, text: string): string {
  return `---
name: publish-site
description: Publish a static site, page or folder and get a public URL. Use when the user wants to publish, deploy or share HTML or a built front end.
---

# Publish a static site

${text}
## With the Model Context Protocol

With tools of ${branding.name} (publish_site, update_files and others), use them in place of the requests above. To add them to a client: the address is ${anonymousPublishing ? `${baseUrl}/mcp (Streamable HTTP) to publish without an account, and ` : ''}${baseUrl}/mcp/account to sign in by OAuth when the client connects. On a computer with the files, the command ${npxCommand(baseUrl)} mcp serves the same tools over stdio, and publish_folder. Guide: ${baseUrl}/docs/agents.md

## Review and secrets

To show a change before it is live: ${npxCommand(baseUrl)} publish FOLDER --preview NAME --review prints a link on which people comment and decide. Read their words with feedback --preview NAME, answer with feedback reply ID "TEXT", and wait with feedback --preview NAME --wait: exit code 0 when it is approved, 8 when changes are requested. Guide: ${baseUrl}/docs/review.md

After SECRET_DETECTED, remove the secret from the files and tell the user to replace it. Only the user decides to allow one.

## From CI

In GitHub Actions and GitLab CI, publish without a stored secret: the user trusts the repository once, and each job exchanges its identity token for a key. Guide: ${baseUrl}/docs/ci.md. In other CI systems, store a key of ${npxCommand(baseUrl)} keys create as the secret SLIPWAY_KEY, and run:

SLIPWAY_URL=${baseUrl} npx -y ${baseUrl}/cli.tgz publish FOLDER --site NAME --create --replace --json

--create creates the site on the first run. Without Node.js: curl -fsSL ${baseUrl}/publish.sh | SLIPWAY_SITE=SLUG sh -s FOLDER
`
}

const CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/** RFC 9727. */
function apiCatalog(baseUrl: string): object {
  return {
    linkset: [
      {
        anchor: `${baseUrl}/api/`,
        'service-desc': [{ href: `${baseUrl}/api/openapi.json`, type: 'application/json' }],
        'service-doc': [
          { href: `${baseUrl}/docs`, type: 'text/html' },
          { href: `${baseUrl}/llms.txt`, type: 'text/plain' },
        ],
        status: [{ href: `${baseUrl}/health`, type: 'application/json' }],
      },
      {
        anchor: `${baseUrl}/mcp`,
        'service-desc': [{ href: `${baseUrl}/.well-known/mcp/server-card.json`, type: 'application/json' }],
        'service-doc': [{ href: `${baseUrl}/docs/agents`, type: 'text/html' }],
      },
    ],
  }
}

/** Where the MCP server is, for clients that look for it. The protocol itself describes its tools. */
function serverCard({ baseUrl, branding, version }: PageSettings): object {
  return {
    serverInfo: { name: 'slipway', title: branding.name, version },
    description: `Publishes static sites: send files, get a live URL. A client signs in when it connects to ${baseUrl}/mcp/account.`,
    documentationUrl: `${baseUrl}/docs/agents`,
    transport: { type: 'streamable-http', endpoint: `${baseUrl}/mcp` },
  }
}
