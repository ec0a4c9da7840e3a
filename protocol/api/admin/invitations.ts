import type { AdminPage } from './page.ts'

/** An address that may create an account. */
export interface Invitation {
  email: string
  createdAt: string
  expiresAt: string
}

/** `GET /api/admin/invitations`, in the order of the addresses. */
export type InvitationPage = AdminPage<Invitation>

/** `POST /api/admin/invitations`, and the response of its DELETE. */
export interface InvitationRequest {
  email: string
}
