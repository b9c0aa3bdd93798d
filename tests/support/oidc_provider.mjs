// The certified OpenID provider of the tests, on a loopback port. It ends when its standard input ends.
// Its only argument is JSON: {"redirectUris": [...], "thinIdTokens": true}.
// A browser logs in by the header X-Person: JSON with "sub" and other claims, or {"refuse": "text"}.
import { createServer } from "node:http";
import Provider from "../../web/node_modules/oidc-provider/lib/index.js";

const { redirectUris, thinIdTokens } = JSON.parse(process.argv[2]);
const people = new Map();
const client = { redirect_uris: redirectUris, grant_types: ["authorization_code"], response_types: ["code"] };
const configuration = {
  clients: [
    { ...client, client_id: "onetool", client_secret: "client secret: +%&" },
    { ...client, client_id: "onetool-public", token_endpoint_auth_method: "none" },
  ],
  claims: { openid: ["sub"], email: ["email"], profile: ["name"], groups: ["groups"] },
  conformIdTokenClaims: thinIdTokens,
  cookies: { keys: ["cookies of a test"] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...people.get(sub), sub }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  async loadExistingGrant(ctx) {
    const { client, session } = ctx.oidc;
    const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope("openid email profile groups");
    await grant.save();
    return grant;
  },
  pkce: { required: () => true },
  renderError(ctx, out) {
    ctx.type = "json";
    ctx.body = out;
  },
};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, configuration);
  const respond = provider.callback();
  server.on("request", async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return respond(request, response);
    const { refuse, ...claims } = JSON.parse(request.headers["x-person"]);
    people.set(claims.sub, claims);
    const result = refuse
      ? { error: "access_denied", error_description: refuse }
      : { login: { accountId: claims.sub } };
    await provider.interactionFinished(request, response, result);
  });
  process.stdout.write(`${issuer}\n`);
});
process.stdin.on("end", () => process.exit()).resume();
