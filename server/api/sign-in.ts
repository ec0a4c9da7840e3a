import type { FastifyReply, RouteHandlerMethod } from 'fastify'
import { SESSION_SECONDS } from '../session.ts'
import { SESSION_COOKIE } from './admission.ts'
import type { Rooms } from './rooms.ts'

/** Spec 4.1. */
export function requestCode({ accounts }: Pick<Rooms, 'accounts'>): RouteHandlerMethod {
  return (request) => accounts.requestCode((request.body as { email: string }).email)
}

/** Spec 4.2. */
export function verifyCode({ accounts }: Pick<Rooms, 'accounts'>): RouteHandlerMethod {
  return (request) => {
    const { email, code } = request.body as { email: string; code: string }
    return accounts.verifyCode(email, code)
  }
}

/** Contract, "Sign-in": a cookie that scripts cannot read and other sites cannot use. */
export function openSession({ accounts }: Pick<Rooms, 'accounts'>): RouteHandlerMethod {
  return async (request, reply) => {
    const { email, code } = request.body as { email: string; code: string }
    const { token, ...answer } = await accounts.openSession(email, code, request.headers['user-agent'])
    reply.header('Set-Cookie', cookie(token, SESSION_SECONDS))
    return answer
  }
}

export function closeSession({ sessions }: Pick<Rooms, 'sessions'>): RouteHandlerMethod {
  return async (request, reply) => {
    if (request.sessionToken) await sessions.close(request.sessionToken)
    endCookie(reply)
    return { success: true }
  }
}

/** The browser is to forget that it was signed in. */
export function endCookie(reply: FastifyReply): void {
  reply.header('Set-Cookie', cookie('', 0))
}

function cookie(value: string, seconds: number): string {
  return `${SESSION_COOKIE}=${value}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=${seconds}`
}
