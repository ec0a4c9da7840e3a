import { encode } from 'uqr'

/** The address as a QR code, dark on white in any color scheme. */
export function QrCode({ address }: { address: string }) {
  const { data, size } = encode(address, { ecc: 'M', border: 3 })
  const drawing = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return (
    <figure class="qr-code">
      <svg
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        aria-label={`QR code of ${address}`}
        shape-rendering="crispEdges"
      >
        <rect width={size} height={size} fill="#fff" />
        <path d={drawing} fill="#000" />
      </svg>
      <figcaption class="quiet small">Scan to open on your phone</figcaption>
    </figure>
  )
}
