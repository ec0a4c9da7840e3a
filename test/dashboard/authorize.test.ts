import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import {
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { Agent } from '../mcp/agent.ts'
import { Program } from '../mcp/program.ts'
import { listen } from '../support/listen.ts'
import { web } from './shared.ts'
import { newAddress, requiresBrowser } from './web-fixture.ts'

test(
  'the page on which a program asks for access takes it from nothing to a kept site, and the user ends its access',
  requiresBrowser,
  async () => {
    const { page, visitor } = await web.asVisitor()
    await using program = await BrowserProgram.start()
    const email = newAddress()
    await using agent = await program.connect()
    const site = await agent.call('publish_site', { files: [{ path: 'index.html', content: '<h1>Hi</h1>' }] })
    const claim = { slug: site.slug, claimToken: site.claimToken }
    await assert.rejects(agent.call('claim_site', claim), UnauthorizedError)

    await page.goto(program.authorizationUrl)
    await web.askForCode(page, email)
    await web.writeCode(page, email)
    await page.getByRole('heading', { name: 'Give Test chat access?' }).waitFor()
    await page.getByText(`returns to 127.0.0.1:${program.port}`).waitFor()
    await page.getByText('Publish new sites, and new versions of your sites').waitFor()
    const manages = page.getByText('Change the settings of your sites, delete them, and manage your domains')
    assert.equal(await manages.count(), 0)
    await visitor.assertReadableInAllViewports()
    await page.getByRole('button', { name: 'Allow' }).click()
    await program.finish()
    await page.getByText('Return to the program.').waitFor()
    // The page of the program, which is of another origin.
    const challenge = await page.evaluate(async (url) => {
      const headers = { authorization: 'Bearer invalid', 'content-type': 'application/json' }
      return (await fetch(url, { method: 'POST', headers, body: '{}' })).headers.get('www-authenticate')
    }, `${web.service.baseUrl}/mcp`)
    assert.match(challenge ?? '', /^Bearer error="invalid_token", scope="read publish", resource_metadata=/)
    await agent.call('claim_site', claim)
    const changed = await agent.call('update_files', {
      slug: site.slug,
      files: [{ path: 'a.txt', content: 'a' }],
    })
    await agent.call('restore_version', { slug: site.slug, versionId: changed.previousVersionId })

    await assert.rejects(agent.call('set_metadata', { slug: site.slug, title: 'T' }), UnauthorizedError)
    await page.goto(program.authorizationUrl)
    await manages.waitFor()

    await page.goto(web.url('/account'))
    await page.getByRole('button', { name: 'End access of Test chat' }).click()
    const question = page.getByRole('dialog', { name: 'End access of Test chat?' })
    await question.getByRole('button', { name: 'End access' }).click()
    await page.getByText('Test chat has no access any more.').waitFor()
    await assert.rejects(agent.call('list_sites'), /grant request is invalid/)
  },
)

test(
  'the page on which a program asks for access allows it by a click only when it has been in view for a second, so that a page that asks for fast clicks and then leads to it gets nothing; an invalid request shows the whole host',
  requiresBrowser,
  async () => {
    const { page, owner } = await web.asOwner()
    await using listener = await BrowserProgram.start()
    const redirect_uri = `http://127.0.0.1:${listener.port}/callback`
    const longHost = `https://claude.ai.${'a'.repeat(60)}.${'b'.repeat(60)}.evil.example/`
    const redirect_uris = [redirect_uri, longHost]
    const program = await Program.register(web.service.baseUrl, { redirect_uris })
    // The end of the host tells whose it is.
    await page.goto(program.authorizationUrl({ redirect_uri: longHost, prompt: 'none' }))
    await owner.assertReadableInAllViewports()
    const allow = page.getByRole('button', { name: 'Allow' })
    await page.clock.install()
    await page.clock.pauseAt(Date.now() + MINUTE_MS)
    await page.goto(program.authorizationUrl({ redirect_uri }))
    const decisions: string[] = []
    page.on('request', (request) => request.method() === 'POST' && decisions.push(request.url()))
    const clickTooEarly = async () => {
      await allow.click({ force: true })
      await page.evaluate(() => undefined)
      assert.deepEqual(decisions, [])
    }
    for (let clicks = 0; clicks < 3; clicks++) {
      await page.clock.runFor(900)
      await clickTooEarly()
    }
    await page.clock.runFor(2000)
    // Another window was above the page, and closes between two clicks.
    await page.evaluate(() => window.dispatchEvent(new Event('focus')))
    await clickTooEarly()
    await page.clock.runFor(2000)
    await allow.click()
    await page.getByText('Return to the program.').waitFor()
  },
)

test('after Allow, the page leads to a program that has a scheme of its own', requiresBrowser, async () => {
  const { page, owner } = await web.asOwner()
  const program = await Program.register(web.service.baseUrl, { redirect_uris: ['cursor://callback'] })
  await page.goto(program.authorizationUrl({ redirect_uri: 'cursor://callback' }))
  const allow = page.getByRole('button', { name: 'Allow' })
  await allow.and(page.locator('[aria-disabled=false]')).click()
  await page.getByText('Allowed. You can close this page.').waitFor()
  const link = page.getByRole('link', { name: /^Continue in / })
  assert.ok((await link.getAttribute('href'))!.startsWith(`${web.service.baseUrl}/oauth/authorize/`))
  assert.equal(await allow.count(), 0)
  await owner.assertReadable()
  owner.complaints.splice(0)
})

/** A program on this device, over the library that programs use. */
class BrowserProgram implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    response.end('Return to the program.')
    this.#returned.resolve(new URL(request.url!, 'http://localhost').searchParams)
  })
  readonly #returned = Promise.withResolvers<URLSearchParams>()
  #transport!: StreamableHTTPClientTransport
  port = 0
  authorizationUrl = ''

  static async start(): Promise<BrowserProgram> {
    const program = new BrowserProgram()
    program.port = await listen(program.#server)
    return program
  }

  connect(): Promise<Agent> {
    const url = new URL('/mcp', web.service.baseUrl)
    this.#transport = new StreamableHTTPClientTransport(url, { authProvider: this.#provider() })
    return Agent.over(this.#transport)
  }

  /** Gets its tokens when the browser has returned. */
  async finish(): Promise<void> {
    await this.#transport.finishAuth(await this.#returned.promise)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await this.#server[Symbol.asyncDispose]()
  }

  #provider(): OAuthClientProvider {
    const redirectUrl = `http://127.0.0.1:${this.port}/callback`
    const saved: Partial<{
      client: StoredOAuthClientInformation
      tokens: StoredOAuthTokens
      verifier: string
    }> = {}
    return {
      redirectUrl,
      clientMetadata: { client_name: 'Test chat', redirect_uris: [redirectUrl] },
      clientInformation: () => saved.client,
      saveClientInformation: (client) => void Object.assign(saved, { client }),
      tokens: () => saved.tokens,
      saveTokens: (tokens) => void Object.assign(saved, { tokens }),
      redirectToAuthorization: (url) => {
        this.authorizationUrl = url.href
      },
      saveCodeVerifier: (verifier) => void Object.assign(saved, { verifier }),
      codeVerifier: () => saved.verifier!,
    }
  }
}
