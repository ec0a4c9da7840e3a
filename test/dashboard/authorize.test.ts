import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import {
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { Agent } from '../mcp/agent.ts'
import { testVariant } from '../support/variants.ts'
import { web } from './shared.ts'
import { newAddress, requiresBrowser } from './web-fixture.ts'

describe('the page on which a program asks for access', requiresBrowser, () => {
  test('takes a program from nothing to a kept site, and the user ends its access', async () => {
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
    await page.getByText('Change the settings of your sites, delete them, and manage your domains').waitFor()
    await visitor.assertAccessibleInAllViewports()
    const returned = program.returned()
    await page.getByRole('button', { name: 'Allow' }).click()
    await program.finish(await returned)
    await page.getByText('Return to the program.').waitFor()
    await agent.call('claim_site', claim)
    const changed = await agent.call('update_files', {
      slug: site.slug,
      files: [{ path: 'a.txt', content: 'a' }],
    })
    await agent.call('restore_version', { slug: site.slug, versionId: changed.previousVersionId })

    await page.goto(web.url('/account'))
    await page.getByRole('button', { name: 'End access of Test chat' }).click()
    await page.getByText('Test chat has no access any more.').waitFor()
    await assert.rejects(agent.call('list_sites'), /grant request is invalid/)
  })

  testVariant('returns a user who denies to the program', async () => {
    const { page } = await web.asOwner()
    await using program = await BrowserProgram.start()
    await using agent = await program.connect()
    await assert.rejects(agent.call('list_sites'), UnauthorizedError)
    await page.goto(program.authorizationUrl)
    const returned = program.returned()
    await page.getByRole('button', { name: 'Deny' }).click()
    assert.equal((await returned).get('error'), 'access_denied')
    await page.getByText('Return to the program.').waitFor()
  })

  testVariant('is not shown in a frame, and says when its time is over', async () => {
    const { headers } = await fetch(web.url('/authorize/an-id'))
    assert.match(headers.get('content-security-policy')!, /frame-ancestors 'none'/)
    const { page } = await web.asOwner('/authorize/an-id')
    await page.getByText('This request of a program has expired, or began in another browser').waitFor()
  })
})

/** A program on this device, over the library that programs use. */
class BrowserProgram implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    response.end('Return to the program.')
    this.#onReturn?.(new URL(request.url!, 'http://localhost').searchParams)
  })
  #onReturn: ((parameters: URLSearchParams) => void) | undefined
  #transport: StreamableHTTPClientTransport | undefined
  authorizationUrl = ''

  static async start(): Promise<BrowserProgram> {
    const program = new BrowserProgram()
    await new Promise<void>((resolve) => program.#server.listen(0, '127.0.0.1', resolve))
    return program
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  connect(): Promise<Agent> {
    const url = new URL('/mcp', web.service.baseUrl)
    this.#transport = new StreamableHTTPClientTransport(url, { authProvider: this.#provider() })
    return Agent.over(this.#transport)
  }

  /** The parameters with which the browser returns. */
  returned(): Promise<URLSearchParams> {
    return new Promise((resolve) => {
      this.#onReturn = resolve
    })
  }

  async finish(parameters: URLSearchParams): Promise<void> {
    await this.#transport!.finishAuth(parameters)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #provider(): OAuthClientProvider {
    const redirectUrl = `http://127.0.0.1:${this.port}/callback`
    let client: StoredOAuthClientInformation | undefined
    let tokens: StoredOAuthTokens | undefined
    let verifier = ''
    return {
      redirectUrl,
      clientMetadata: { client_name: 'Test chat', redirect_uris: [redirectUrl] },
      clientInformation: () => client,
      saveClientInformation: (saved) => {
        client = saved
      },
      tokens: () => tokens,
      saveTokens: (saved) => {
        tokens = saved
      },
      redirectToAuthorization: (url) => {
        this.authorizationUrl = url.href
      },
      saveCodeVerifier: (saved) => {
        verifier = saved
      },
      codeVerifier: () => verifier,
    }
  }
}
