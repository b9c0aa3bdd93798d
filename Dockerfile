# OneTool as a service: REST, MCP over HTTP and the web screens on port 8765.
#
#   docker build -t onetool .
#   docker run -p 127.0.0.1:8765:8765 -e ONETOOL_TOKEN -v onetool:/home/onetool onetool

FROM node:22-slim AS screens
WORKDIR /web
COPY web/package.json web/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY web/ ./
# The types are committed; `just web` is what compares them with the routes.
RUN npx vite build --outDir /static --emptyOutDir

FROM python:3.13-slim AS wheel
COPY --from=ghcr.io/astral-sh/uv:0.13 /uv /bin/uv
WORKDIR /src
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY src/ src/
COPY --from=screens /static/ src/onetool/doors/web/static/
RUN uv build --wheel --out-dir /wheels \
    && uv export --frozen --no-dev --no-default-groups --no-emit-project --no-hashes --output-file /wheels/locked.txt

FROM python:3.13-slim
COPY --from=wheel /wheels/ /wheels/
RUN pip install --no-cache-dir --disable-pip-version-check --requirement /wheels/locked.txt /wheels/*.whl \
    && rm -r /wheels \
    && useradd --create-home --uid 10001 onetool
USER onetool
WORKDIR /home/onetool
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
# Outside of the container it is reached as localhost; another name is given with --allow-host.
ENTRYPOINT ["onetool"]
CMD ["serve", "--host", "0.0.0.0"]
