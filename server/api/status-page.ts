import type { FastifyInstance } from 'fastify'
import { html } from '../lib/html.ts'
import type { Services } from '../services.ts'
import { sendPage } from '../web/pages.ts'
import { RETRY_AFTER_SECONDS } from './errors.ts'

interface StatusPageOptions extends Pick<Services, 'banners' | 'pages' | 'branding'> {
  healthy: () => Promise<void>
  hasSpace: () => Promise<void>
  version: string
}

/** For people; programs ask `/health`, which has the same status, 200 or 503. */
export async function statusPage(app: FastifyInstance, options: StatusPageOptions): Promise<void> {
  const { healthy, hasSpace, banners, pages, branding, version } = options
  app.get('/status', async (_, reply) => {
    const works = await succeeds(healthy)
    const publishes = works && (await succeeds(hasSpace))
    const banner = banners.current()
    const title = publishes ? 'Everything works' : works ? 'Publishing is paused' : 'Not everything works'
    const lines = [
      ['Published sites', works ? 'Online' : 'Online where this server has them in memory'],
      [
        'Publishing',
        publishes ? 'Works' : works ? 'Paused: the disk of the server is full' : 'Does not work now',
      ],
      ['Dashboard and sign-in', works ? 'Work' : 'Do not work now'],
      ['Version', version],
    ]
    const main = html`<p class="above">Status of ${branding.name}</p>
<h1>${title}</h1>${banner && html`\n<p>${banner.text}${banner.link === null ? undefined : html` <a href="${banner.link}">More</a>`}</p>`}
<dl>${lines.map(([name, state]) => html`\n<dt>${name}</dt><dd>${state}</dd>`)}
</dl>
<p><a href="/">${branding.name}</a></p>`
    if (!works) reply.header('Retry-After', RETRY_AFTER_SECONDS)
    return sendPage(reply, pages.render({ status: works ? 200 : 503, language: 'en', title, main }))
  })
}

async function succeeds(check: () => Promise<void>): Promise<boolean> {
  return check().then(
    () => true,
    () => false,
  )
}
