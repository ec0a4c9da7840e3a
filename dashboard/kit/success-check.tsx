/** A check that draws itself once, beside the heading of a success; still where motion is reduced. */
export function SuccessCheck({ size = 32 }: { size?: number }) {
  return (
    <svg class="icon success-check" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <circle cx="12" cy="12" r="9" pathLength={1} />
      <path d="M8 12.5l3 3 5.5-6" pathLength={1} />
    </svg>
  )
}
